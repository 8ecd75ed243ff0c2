// SPDX-License-Identifier: Apache-2.0
#include "correlate/program_cache.hpp"

#include <functional>
#include <string_view>
#include <utility>

namespace tracer::internal {

std::size_t ProgramCache::hash_of(const std::optional<std::string>& exe,
                                  const std::optional<std::vector<std::string>>& argv,
                                  const std::optional<std::string>& cwd) {
  std::size_t hash = 0;
  const auto add = [&hash](std::string_view text) {
    hash = (hash ^ std::hash<std::string_view>{}(text)) * 0x9e3779b97f4a7c15u;
  };
  if (exe) add(*exe);
  if (cwd) add(*cwd);
  if (argv)
    for (const std::string& word : *argv) add(word);
  return hash;
}

std::shared_ptr<const Program> ProgramCache::find(const ProgramText& text, const std::string& comm) const {
  const auto found = programs_.find(hash_of(text.exe, text.argv, text.cwd));
  if (found == programs_.end()) return nullptr;
  const Program& program = *found->second;
  const bool same = program.exe == text.exe && program.argv == text.argv && program.cwd == text.cwd &&
                    program.argv_cut_bytes == text.argv_cut_bytes && program.comm.value_or("") == comm;
  return same ? found->second : nullptr;
}

void ProgramCache::add(std::shared_ptr<const Program> program) {
  if (programs_.size() >= kCapacity) programs_.clear();
  const std::size_t hash = hash_of(program->exe, program->argv, program->cwd);
  programs_.insert_or_assign(hash, std::move(program));
}

}  // namespace tracer::internal
