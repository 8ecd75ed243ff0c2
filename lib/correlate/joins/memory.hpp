// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "correlate/joins/family_join.hpp"

namespace tracer::internal {

/// Says of each process that has ended whether the kernel killed it as memory had run out.
class MemoryJoin final : public FamilyJoin {
 public:
  Family family() const noexcept override { return Family::kMemory; }
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
};

}  // namespace tracer::internal
