// SPDX-License-Identifier: Apache-2.0
/// What tracer-gpu says on its pipe. The library in it is foreign: all of this is hostile input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

struct NvmlProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> busy_ns;  ///< Since tracer-gpu began; so is that of a device.
};

struct NvmlDevice {
  std::uint32_t minor = 0;  ///< Of /dev/nvidia<minor>.
  std::optional<std::uint64_t> capacity_bytes;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> busy_ns;
  std::optional<std::string> uuid;
  std::optional<std::string> name;
  std::vector<NvmlProcess> processes;
};

struct NvmlState {
  std::uint64_t time_ns = 0;  ///< When the driver was asked, by CLOCK_BOOTTIME.
  std::vector<NvmlDevice> devices;
};

/// Reads lines, each ended by '\n':
///   nvml NVML-VERSION DRIVER-VERSION
///   failed WHY
///   state TIME_NS
///   device MINOR CAPACITY MEMORY BUSY_NS UUID NAME      (any number; "-": not known; a name may have blanks)
///   process PID MEMORY BUSY_NS                          (any number; of the device before)
///   end                                                 (of the state)
class NvmlLines {
 public:
  void take(std::string_view bytes);

  const std::optional<std::string>& version() const noexcept { return version_; }
  const std::optional<std::string>& failure() const noexcept { return failure_; }
  /// The last whole state; absent: none came since it was taken.
  std::optional<NvmlState> take_state();
  /// Lines that make no sense, or say what is not possible.
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  void take_line(std::string_view line);
  bool take_device(std::string_view rest);
  bool take_process(std::string_view rest);

  std::string line_;
  bool too_long_ = false;  ///< The rest of the line is skipped.
  std::optional<std::string> version_;
  std::optional<std::string> failure_;
  std::optional<NvmlState> open_;
  bool device_refused_ = false;  ///< Its processes are, too.
  std::size_t processes_ = 0;    ///< In the open state.
  std::optional<NvmlState> whole_;
  std::uint64_t refused_ = 0;
};

}  // namespace tracer::internal
