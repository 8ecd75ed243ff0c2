// SPDX-License-Identifier: Apache-2.0
#include "show/time_bar.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "show/figures.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kCells = 8;
constexpr double kLeastShare = 0.05;

bool is_ready(TimeCause cause) { return cause == TimeCause::kRunQueue || cause == TimeCause::kThrottled; }

}  // namespace

std::string time_bar(const std::vector<TimeShare>& time) {
  if (time.empty()) return {};
  double running = 0;
  double ready = 0;
  double unclear = 0;
  for (const TimeShare& each : time) {
    if (each.cause == TimeCause::kCpu) running += each.share;
    if (is_ready(each.cause)) ready += each.share;
    if (each.cause == TimeCause::kUnclear) unclear += each.share;
  }
  // Each cell shows in which part its middle lies.
  std::string bar;
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    const double middle = (static_cast<double>(cell) + 0.5) / kCells;
    bar += middle < running                     ? symbols().running
           : middle < running + unclear         ? symbols().unclear
           : middle < running + unclear + ready ? symbols().ready
                                                : symbols().waiting;
  }
  return bar;
}

std::string main_causes(const std::vector<TimeShare>& time, std::size_t most) {
  std::string text;
  const bool has_range =
      std::any_of(time.begin(), time.end(), [](const TimeShare& each) { return each.cause == TimeCause::kUnclear; });
  for (std::size_t i = 0; i < std::min(most, time.size()); ++i) {
    if (i != 0 && time[i].share < kLeastShare) break;
    text += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", to_string(time[i].cause),
                        has_range && time[i].cause == TimeCause::kCpu ? symbols().at_least : "",
                        format_share(time[i].share));
  }
  return text;
}

std::string time_bar_legend(bool has_unclear) {
  std::string text = fmt::format("where time went: {} running on a CPU  {} ready, but no CPU was free  {} waiting\n",
                                 symbols().running, symbols().ready, symbols().waiting);
  if (has_unclear) text += fmt::format("                 {} one of these: which one is not known\n", symbols().unclear);
  return text;
}

}  // namespace tracer::internal
