// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <tracer/families.hpp>
#include <tracer/filter.hpp>

namespace tracer::internal {

/// A rule of the filter that a source decides, with the context id of what it takes in.
struct SourceRule {
  Filter::Rule rule;
  std::uint32_t context_id = 0;
};

/// What a session asks of a source that is a Tracker. The service gets a filter as its caller made it: it has other
/// numbers of contexts.
struct SourceRequest {
  std::vector<SourceRule> rules = {};  ///< That the source decides.
  bool track_all = false;              ///< Without an include rule, or where a later stage decides these.
  bool own_uid_only = false;
  std::vector<Family> families = {};  ///< Besides the lifecycle.
  std::size_t max_processes = 32768;
  std::optional<double> max_cost_share = {};  ///< Of one CPU.
};

/// Throws Error: kFilterNamesNothing (no such process or cgroup), kPermission (another user's, with `own_uid_only`).
void require_named(const Filter::Rule& rule, bool own_uid_only);

}  // namespace tracer::internal
