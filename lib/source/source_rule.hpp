// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/filter.hpp>

namespace tracer::internal {

/// A rule of the filter that a source decides, with the context id of what it takes in.
struct SourceRule {
  Filter::Rule rule;
  std::uint32_t context_id = 0;
};

/// Throws Error: kFilterNamesNothing (no such process or cgroup), kPermission (another user's, with `own_uid_only`).
void require_named(const Filter::Rule& rule, bool own_uid_only);

}  // namespace tracer::internal
