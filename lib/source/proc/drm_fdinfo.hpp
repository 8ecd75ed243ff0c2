// SPDX-License-Identifier: Apache-2.0
/// What a graphics driver says of an open device file in /proc/PID/fdinfo: the kernel's drm-usage-stats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tracer::internal {

/// Engines of one kind. Drivers count either their busy time or their cycles.
struct DrmEngine {
  std::optional<std::uint64_t> busy_ns;
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> total_cycles;  ///< That passed meanwhile.
  std::uint64_t capacity = 1;                 ///< How many there are.
};

/// One client of a driver: an open device file, with all descriptors of it.
struct DrmClient {
  std::string driver;
  std::optional<std::string> pci_device;  ///< "0000:03:00.0".
  std::uint64_t id = 0;
  /// That it holds: of the device's own memory, or of the host's where the device has none. Absent: the driver says
  /// nothing.
  std::optional<std::uint64_t> memory_bytes;
  std::map<std::string, DrmEngine, std::less<>> engines;
};

enum class DrmText {
  kClient,
  kNone,     ///< The file belongs to no client whose use is reported.
  kRefused,  ///< It contradicts itself or has more than any driver writes.
};

/// `client` is to be empty; it is complete with kClient.
DrmText parse_drm_fdinfo(std::string_view text, DrmClient& client);

}  // namespace tracer::internal
