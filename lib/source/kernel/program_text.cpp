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
  const std::string_view head = bytes.substr(0, TRACER_ARGV_HEAD_BYTES);
  add(head);
  // What is missing may end in the word in which it began, so that the rest is a class path's or a secret's.
  std::string cut = head.empty() || head.back() == '\0' || argv.empty() ? std::string() : std::move(argv.back());
  if (!cut.empty()) argv.pop_back();
  const std::size_t first_of_tail = argv.size();
  add(bytes.substr(TRACER_ARGV_HEAD_BYTES));
  cut += "…";
  if (argv.size() > first_of_tail) {
    argv[first_of_tail].insert(0, cut);
  } else {
    argv.push_back(std::move(cut));
  }
  return argv;
}

}  // namespace

void set_argv(ProgramText& text, std::string_view bytes, std::uint64_t total) {
  text.argv = split_argv(bytes, total);
  if (total > bytes.size()) text.argv_cut_bytes = total - bytes.size();
}

}  // namespace tracer::internal
