// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "correlate/joins/family_join.hpp"

namespace tracer::internal {

/// Says of processes for which device they waited longest.
class DiskWaitsJoin final : public FamilyJoin {
 public:
  Family family() const noexcept override { return Family::kDisks; }
  void add(const DiskWaitsRecord& record, const Process&) override;
  void at_sample(ProcessSample& sample) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  struct Longest {
    std::uint64_t start_ns = 0;
    std::string device;
    std::uint64_t wait_ns = 0;
  };
  /// Null: no device is known.
  const Longest* find(std::uint32_t pid, std::uint64_t start_ns) const;

  std::unordered_map<std::uint32_t, Longest> processes_;
};

}  // namespace tracer::internal
