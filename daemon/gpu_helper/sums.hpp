// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nvml.hpp"

namespace tracer_gpu {

/// What NVML reports as percentages of the time that has just passed, added up to times.
class Sums {
 public:
  explicit Sums(const Nvml& nvml) : nvml_(nvml) {}
  /// Asks the driver.
  void sample();
  /// As the lines of lib/source/gpu/nvml_state.hpp.
  std::string text() const;

 private:
  struct Use {
    std::optional<std::uint64_t> memory_bytes;
    std::uint64_t busy_ns = 0;
  };
  struct DeviceSums {
    std::string uuid;
    std::string name;
    std::optional<Memory> memory;
    std::optional<std::uint64_t> busy_ns;
    bool by_process = false;  ///< Busy times of processes are known.
    std::uint64_t seen_us = 0;
    std::map<unsigned, Use> processes;  ///< By pid: those that use it now.
  };

  void sample(Nvml::Device device, DeviceSums& sums, std::uint64_t span_ns);

  const Nvml& nvml_;
  std::map<unsigned, DeviceSums> devices_;  ///< By minor number.
  std::uint64_t time_ns_ = 0;               ///< Of the last sample; 0: there was none.
};

}  // namespace tracer_gpu
