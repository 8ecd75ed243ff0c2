// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/families.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// What a family says in the events of others. Used while the family is active.
class FamilyJoin {
 public:
  virtual ~FamilyJoin() = default;
  virtual Family family() const noexcept = 0;
  /// `exit` is complete, but for the process and what other families say.
  virtual void at_exit(const ExitRecord& record, ProcessExit& exit) const noexcept = 0;
};

/// Of all families that have one.
std::vector<std::unique_ptr<const FamilyJoin>> family_joins();

}  // namespace tracer::internal
