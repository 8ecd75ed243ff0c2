// SPDX-License-Identifier: Apache-2.0
#include "report/waste.hpp"

#include <algorithm>
#include <optional>

namespace tracer::internal {
namespace {

constexpr double kNsPerHour = 3.6e12;
constexpr double kGiB = 1u << 30;

void add_part(Waste::Part& part, double requested, double used, double hours) {
  ++part.tasks;
  part.requested += requested * hours;
  part.unused += std::max(0.0, requested - used) * hours;
}

void add_row(Waste& waste, const ReportRow& row) {
  if (row.living != 0 || row.wall_ns == 0) return;
  const auto wall_ns = static_cast<double>(row.wall_ns);
  const Requested& requested = row.requested;
  if (requested.millicpus && row.cpu_ns && row.cpu_ns->bound == Bound::kExact)
    add_part(waste.cpu_hours, static_cast<double>(*requested.millicpus) / 1000,
             static_cast<double>(row.cpu_ns->value) / wall_ns, wall_ns / kNsPerHour);
  // What it held at most: less may have been unused, but not more.
  std::optional<std::uint64_t> held_bytes = row.memory_at_most_bytes;
  if (!held_bytes && row.memory_bytes && row.memory_bytes->bound != Bound::kAtLeast)
    held_bytes = row.memory_bytes->value;
  if (requested.memory_bytes && held_bytes)
    add_part(waste.memory_gib_hours, static_cast<double>(*requested.memory_bytes) / kGiB,
             static_cast<double>(*held_bytes) / kGiB, wall_ns / kNsPerHour);
}

void add_nodes(Waste& waste, const std::vector<ReportNode>& nodes) {
  for (const ReportNode& node : nodes) {
    if (node.level == SummaryLevel::kTask) add_row(waste, node.row);
    add_nodes(waste, node.below);
  }
}

}  // namespace

Waste waste_of(const Report& report) {
  Waste waste;
  add_nodes(waste, report.tree);
  return waste;
}

}  // namespace tracer::internal
