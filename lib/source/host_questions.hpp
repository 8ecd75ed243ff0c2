// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "source/records.hpp"

namespace tracer::internal {

/// What is asked of the host while its records are taken, as they do not say it. The answers are those of now. By
/// whoever drains the source.
class HostQuestions {
 public:
  /// A living process's proportional share of the memory that it has in common with others. 0: it has ended. Absent:
  /// not to be read. Of shared huge pages, which nobody counts, one part of `huge_sharers`. Takes about 100
  /// microseconds.
  virtual std::optional<std::uint64_t> pss_bytes(std::uint32_t pid, std::uint64_t huge_sharers) = 0;
  /// The path of a cgroup that exists, within its hierarchy; absent: it does not. May walk all cgroups.
  virtual std::optional<std::string> cgroup_path(Hierarchy hierarchy, std::uint64_t id) const = 0;

 protected:
  ~HostQuestions() = default;
};

}  // namespace tracer::internal
