// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "correlate/joins/family_join.hpp"

namespace tracer::internal {

/// Collects the system calls of each process until it is reported as ended. Bounded.
class SyscallsJoin final : public FamilyJoin {
 public:
  Family family() const noexcept override { return Family::kSyscalls; }
  void add(const SyscallUseRecord& record, const Process&) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events) override;
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  struct Calls {
    std::uint64_t start_ns = 0;
    std::map<std::uint32_t, SyscallUseRecord::Sums> sums = {};  ///< By number.
  };

  void report(std::uint32_t pid, std::uint64_t start_ns, std::uint64_t time_ns,
              const std::shared_ptr<const Process>& process, std::vector<Event>& events);

  std::unordered_map<std::uint32_t, Calls> processes_;  ///< By pid.
};

}  // namespace tracer::internal
