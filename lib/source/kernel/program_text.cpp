// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/program_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "wire.h"

namespace tracer::internal {
namespace {

std::vector<std::string> split(std::string_view bytes) {
  std::vector<std::string> argv;
  argv.reserve(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\0')) + 1);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    argv.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return argv;
}

/// What is missing may end in the word in which it began, so that the rest is a class path's or a secret's: they stay
/// one.
std::vector<std::string> split_argv(std::string_view bytes, std::uint64_t total) {
  if (total <= bytes.size() || bytes.size() <= TRACER_ARGV_HEAD_BYTES) return split(bytes);
  std::string marked(bytes);
  marked.insert(TRACER_ARGV_HEAD_BYTES, "…");
  return split(marked);
}

}  // namespace

void set_argv(ProgramText& text, std::string_view bytes, std::uint64_t total) {
  text.argv = split_argv(bytes, total);
  if (total > bytes.size()) text.argv_cut_bytes = total - bytes.size();
}

}  // namespace tracer::internal
