// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "source/raw_counters.hpp"

namespace tracer::internal {

/// Where the time of a scope went since it is counted: at each moment in one of these. Cumulative.
struct ScopeTimes {
  RawProcessWaits waits = {};  ///< As of a process, of all that are in the scope together.
  std::uint64_t open_ns = 0;   ///< Up to now: none of them ran or could have, and none has ended this yet.
};

/// Counts in the kernel, of several processes together, when any of them runs. By the boot clock. Used by the reader.
class ScopeCounts {
 public:
  enum class Put : std::uint8_t {
    kGone,   ///< The process is over.
    kWasIn,  ///< It was in the scope already.
    kPut,    ///< Counted from now on, as is what it forks.
  };

  virtual std::uint64_t now_ns() const = 0;
  /// A scope with nothing in it. Absent: as many are counted as can be, or nothing happens any more.
  virtual std::optional<std::uint32_t> begin() = 0;
  /// `scope` 0: it is in none from now on.
  virtual Put put(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t scope) = 0;
  /// Absent: not known any more.
  virtual std::optional<ScopeTimes> read(std::uint32_t scope) = 0;
  virtual void end(std::uint32_t scope) = 0;

 protected:
  ~ScopeCounts() = default;
};

}  // namespace tracer::internal
