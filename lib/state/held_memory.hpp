// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <tracer/sample.hpp>

namespace tracer::internal {

/// Adds up what living processes hold together, by one snapshot: docs/decisions/0013-memory-of-a-task.md.
class HeldMemory {
 public:
  void add(const ProcessSample& sample);
  void add(const ToolSample& sample);
  /// Absent: of one of them it is not known.
  std::optional<std::uint64_t> bytes() const noexcept { return known_ ? std::optional(bytes_) : std::nullopt; }
  /// Likewise of the processes that were added one by one, without files and shared memory.
  std::optional<std::uint64_t> anonymous_bytes() const noexcept {
    return known_ ? std::optional(anonymous_bytes_) : std::nullopt;
  }

 private:
  bool known_ = true;
  std::uint64_t bytes_ = 0;
  std::uint64_t anonymous_bytes_ = 0;
  std::map<std::string, std::uint64_t> file_bytes_;  ///< The most of one process, by executable.
};

}  // namespace tracer::internal
