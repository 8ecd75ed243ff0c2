// SPDX-License-Identifier: Apache-2.0
#include "show/page/page_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

/// Their places are the script's colors.
constexpr std::array kColored = {TimeCause::kCpu,   TimeCause::kRunQueue,    TimeCause::kThrottled, TimeCause::kDisk,
                                 TimeCause::kPipe,  TimeCause::kNetwork,     TimeCause::kLock,      TimeCause::kChild,
                                 TimeCause::kSleep, TimeCause::kEvents,      TimeCause::kMemory,    TimeCause::kStopped,
                                 TimeCause::kOther, TimeCause::kLocalSocket, TimeCause::kUnclear};

}  // namespace

unsigned color_of(TimeCause cause) {
  return static_cast<unsigned>(std::find(kColored.begin(), kColored.end(), cause) - kColored.begin());
}

unsigned thousandths(double share) { return static_cast<unsigned>(std::lrint(share * 1000)); }

std::vector<unsigned> parts_of(const std::vector<TimeShare>& time) {
  std::vector<unsigned> parts;
  for (const TimeShare& each : time)
    if (thousandths(each.share) > 0) parts.insert(parts.end(), {color_of(each.cause), thousandths(each.share)});
  return parts;
}

PageColumnLook fixed_column(std::string title, const char* kind, unsigned px, bool searched, bool marks) {
  return {std::move(title), kind, fmt::format("{}px", px), px, searched, marks};
}
PageColumnLook growing_column(std::string title, const char* kind, unsigned px, const char* share, bool searched) {
  return {std::move(title), kind, fmt::format("minmax({}px,{}fr)", px, share), px, searched, false};
}

unsigned width_of_all(const std::vector<PageColumn>& columns) {
  unsigned least = 0;
  for (const PageColumn& column : columns) least += column.least_px();
  return least + 12 * static_cast<unsigned>(columns.size() - 1) + 24;
}

void write_columns(JsonBuilder& json, const std::vector<PageColumn>& columns) {
  json.list("columns", columns, [&](const PageColumn& column) { column.write(json); });
}

}  // namespace tracer::internal
