// SPDX-License-Identifier: Apache-2.0
#include "report/waste.hpp"

#include <algorithm>
#include <optional>

namespace tracer::internal {
namespace {

constexpr Wide kMostUnits = ~Wide{0};

void add_units(Wide& sum, Wide more) { sum = more > kMostUnits - sum ? kMostUnits : sum + more; }

void add_part(Waste::Part& part, Wide requested, Wide used) {
  ++part.tasks;
  add_units(part.requested_units, requested);
  add_units(part.unused_units, requested - std::min(requested, used));
}

void add_row(Waste& waste, const ReportRow& row) {
  if (row.living != 0 || row.wall_ns == 0) return;
  const Wide wall_ns = row.wall_ns;
  const Requested& requested = row.requested;
  if (requested.millicpus && row.cpu_ns && row.cpu_ns->bound == Bound::kExact)
    add_part(waste.cpu_hours, *requested.millicpus * wall_ns, Wide{1000} * row.cpu_ns->value);
  // What it held at most: less may have been unused, but not more.
  std::optional<std::uint64_t> held_bytes = row.memory_at_most_bytes;
  if (!held_bytes && row.memory_bytes && row.memory_bytes->bound != Bound::kAtLeast)
    held_bytes = row.memory_bytes->value;
  if (requested.memory_bytes && held_bytes)
    add_part(waste.memory_gib_hours, *requested.memory_bytes * wall_ns, *held_bytes * wall_ns);
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
