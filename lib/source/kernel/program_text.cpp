// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/program_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "wire.h"

namespace tracer::internal {
namespace {

std::vector<std::string> split_argv(std::string_view bytes, std::uint64_t total) {
  std::vector<std::string> argv;
  const auto add = [&argv](std::string_view part) {
    while (!part.empty()) {
      const std::size_t end = std::min(part.find('\0'), part.size());
      argv.emplace_back(part.substr(0, end));
      part.remove_prefix(std::min(end + 1, part.size()));
    }
  };
  if (total <= bytes.size() || bytes.size() <= TRACER_ARGV_HEAD_BYTES) {
    add(bytes);
    return argv;
  }
  add(bytes.substr(0, TRACER_ARGV_HEAD_BYTES));
  if (!argv.empty()) argv.back() += "…";
  const std::size_t first_of_tail = argv.size();
  add(bytes.substr(TRACER_ARGV_HEAD_BYTES));
  if (argv.size() > first_of_tail) argv[first_of_tail].insert(0, "…");
  return argv;
}

}  // namespace

void set_argv(ProgramText& text, std::string_view bytes, std::uint64_t total) {
  text.argv = split_argv(bytes, total);
  if (total > bytes.size()) text.argv_cut_bytes = total - bytes.size();
}

}  // namespace tracer::internal
