// SPDX-License-Identifier: Apache-2.0
#include "base/proc_stat.hpp"

#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// The number behind so many blanks.
std::optional<std::uint64_t> number_at(std::string_view fields, int blanks) {
  std::size_t place = 0;
  for (; blanks > 0; --blanks) {
    place = fields.find(' ', place);
    if (place == std::string_view::npos) return std::nullopt;
    ++place;
  }
  std::uint64_t number = 0;
  const char* end = fields.data() + fields.size();
  if (std::from_chars(fields.data() + place, end, number).ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<ProcStat> read_proc_stat(pid_t pid) {
  const auto text = read_small_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  // The name, in parentheses, may hold anything; what follows it are numbers, but for the state.
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::string_view fields = std::string_view(*text).substr(name_end);
  const auto parent = number_at(fields, 2);
  const auto flags = number_at(fields, 7);
  const auto ticks = number_at(fields, 20);
  const std::uint64_t arguments_begin = number_at(fields, 46).value_or(0);
  const std::uint64_t arguments_end = number_at(fields, 47).value_or(0);
  if (!parent || !flags || !ticks) return std::nullopt;
  const std::uint64_t tick_ns = 1'000'000'000u / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const std::uint64_t from_ns = *ticks * tick_ns - static_cast<std::uint64_t>(boot_offset_ns());
  return ProcStat{static_cast<std::uint32_t>(*parent), static_cast<std::uint32_t>(*flags), from_ns,
                  from_ns + tick_ns - 1, arguments_end > arguments_begin ? arguments_end - arguments_begin : 0};
}

}  // namespace tracer::internal
