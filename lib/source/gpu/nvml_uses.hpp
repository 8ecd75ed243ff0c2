// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "source/gpu/nvml_state.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// What followed processes did with NVIDIA's GPUs, from one state of the driver to the next.
class NvmlUses {
 public:
  using Processes = std::map<std::uint32_t, std::uint64_t>;  ///< Pid to start time.

  /// One record for each of these processes on each GPU; others that the driver names are somebody else's. `now_ns`: as
  /// the state's clock.
  std::vector<GpuRecord> take(const NvmlState& state, const Processes& processes, std::uint64_t now_ns);
  /// Its sums begin anew: tracer-gpu was started again.
  void begin_anew() noexcept;
  /// Figures that are not possible.
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  struct Read {
    std::uint64_t time_ns = 0;
    std::optional<std::uint64_t> busy_ns;
  };
  using User = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  ///< Device, pid, start time.

  std::optional<std::uint64_t> more_busy_ns(const std::optional<Read>& before, std::optional<std::uint64_t> busy_ns,
                                            std::uint64_t time_ns);

  std::map<std::uint32_t, Read> devices_;  ///< As of the state before, like the next.
  std::map<User, Read> users_;
  std::uint64_t time_ns_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace tracer::internal
