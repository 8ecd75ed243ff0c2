// SPDX-License-Identifier: Apache-2.0
#include "base/proc_stat.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// The words behind the name; proc_pid_stat(5) counts from 1, with pid and name before these.
class Fields {
 public:
  static constexpr std::size_t kFirst = 3;
  static constexpr std::size_t kLast = 52;

  explicit Fields(std::string_view text) {
    for (std::size_t i = 0; i < words_.size() && !text.empty(); ++i) {
      const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
      words_[i] = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  std::string_view word(std::size_t number) const { return words_[number - kFirst]; }
  /// Absent: it is no number, or negative.
  std::optional<std::uint64_t> number(std::size_t number) const { return parse_number<std::uint64_t>(word(number)); }

 private:
  std::array<std::string_view, kLast - kFirst + 1> words_{};
};

}  // namespace

std::uint64_t tick_ns() noexcept {
  static const auto ns = 1'000'000'000u / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ns;
}

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  // The name, in parentheses, may hold anything; what follows it are numbers, but for the state.
  const std::size_t name_begin = text.find('(');
  const std::size_t name_end = text.rfind(')');
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos || name_end < name_begin ||
      name_end + 2 > text.size())
    return std::nullopt;
  const Fields fields(text.substr(name_end + 2));
  const auto parent = fields.number(4);
  const auto flags = fields.number(9);
  const auto ticks = fields.number(22);
  if (!parent || !flags || !ticks || fields.word(3).size() != 1) return std::nullopt;
  const auto ns = [&](std::size_t number) { return fields.number(number).value_or(0) * tick_ns(); };
  ProcStat stat;
  stat.comm = text.substr(name_begin + 1, name_end - name_begin - 1);
  stat.state = fields.word(3).front();
  stat.parent_pid = static_cast<std::uint32_t>(*parent);
  stat.flags = static_cast<std::uint32_t>(*flags);
  stat.minor_faults = fields.number(10).value_or(0);
  stat.major_faults = fields.number(12).value_or(0);
  stat.user_ns = ns(14);
  stat.system_ns = ns(15);
  stat.children_cpu_ns = ns(16) + ns(17);
  stat.threads = fields.number(20).value_or(0);
  stat.started_from_ns = *ticks * tick_ns() - static_cast<std::uint64_t>(boot_offset_ns());
  stat.started_until_ns = stat.started_from_ns + tick_ns() - 1;
  stat.stack = fields.number(28).value_or(0);
  const std::uint64_t arguments_begin = fields.number(48).value_or(0);
  const std::uint64_t arguments_end = fields.number(49).value_or(0);
  stat.arguments_bytes = arguments_end > arguments_begin ? arguments_end - arguments_begin : 0;
  stat.wait_status = static_cast<int>(fields.number(52).value_or(0) & 0xffff);
  return stat;
}

std::optional<ProcStat> read_proc_stat(pid_t pid) {
  const auto text = read_small_file(fmt::format("/proc/{}/stat", pid));
  return text ? parse_proc_stat(*text) : std::nullopt;
}

bool lives(std::uint32_t pid, std::uint64_t start_ns) {
  const auto stat = read_proc_stat(static_cast<pid_t>(pid));
  return stat && stat->started_from_ns <= start_ns && start_ns <= stat->started_until_ns;
}

}  // namespace tracer::internal
