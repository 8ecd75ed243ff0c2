// SPDX-License-Identifier: Apache-2.0
#include "correlate/program_table.hpp"

#include <functional>
#include <string_view>
#include <utility>

namespace tracer::internal {

std::size_t ProgramTable::hash_of(const std::optional<std::string>& exe,
                                  const std::optional<std::vector<std::string>>& argv,
                                  const std::optional<std::string>& cwd, const std::optional<std::uint32_t>& euid) {
  std::size_t hash = 0;
  const auto add = [&hash](std::string_view text) {
    hash = (hash ^ std::hash<std::string_view>{}(text)) * 0x9e3779b97f4a7c15u;
  };
  if (exe) add(*exe);
  if (cwd) add(*cwd);
  if (argv)
    for (const std::string& word : *argv) add(word);
  if (euid) hash ^= *euid;
  return hash;
}

std::shared_ptr<const Program> ProgramTable::find(const ProgramText& text, const std::string& comm) const {
  const auto found = programs_.find(hash_of(text.exe, text.argv, text.cwd, text.euid));
  if (found == programs_.end()) return nullptr;
  const Program& program = *found->second;
  const bool same = program.exe == text.exe && program.argv == text.argv && program.cwd == text.cwd &&
                    program.exec_euid == text.euid && program.argv_cut_bytes == text.argv_cut_bytes &&
                    program.comm.value_or("") == comm;
  return same ? found->second : nullptr;
}

void ProgramTable::keep(std::shared_ptr<const Program> program) {
  if (programs_.size() >= kCapacity) programs_.clear();
  const std::size_t hash = hash_of(program->exe, program->argv, program->cwd, program->exec_euid);
  programs_.insert_or_assign(hash, std::move(program));
}

std::shared_ptr<const Program> ProgramTable::program_of(const ProgramText& text, const std::string& comm) {
  if (auto known = find(text, comm)) return known;
  auto program = std::make_shared<Program>();
  if (!comm.empty()) program->comm = comm;
  program->exe = text.exe;
  program->argv = text.argv;
  program->argv_cut_bytes = text.argv_cut_bytes;
  program->cwd = text.cwd;
  program->exec_euid = text.euid;
  const std::uint64_t masked = program->argv && secrets_ ? secrets_->mask(*program->argv) : 0;
  if (program->exe || program->argv)
    program->tool = tools_->name(program->exe.value_or(""), program->argv ? *program->argv : std::vector<std::string>{},
                                 program->comm.value_or(""));
  if (masked != 0) {
    secrets_masked_.add(masked);
  } else {
    keep(program);
  }
  return program;
}

}  // namespace tracer::internal
