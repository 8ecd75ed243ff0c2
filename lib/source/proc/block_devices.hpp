// SPDX-License-Identifier: Apache-2.0
/// What the kernel's files say of block devices, by their number: major number << 20 | minor number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tracer::internal {

/// "vda". Absent: there is none with this number.
std::optional<std::string> device_name(std::uint32_t device);

/// How long requests have been in flight, since the device was made. Absent: it is gone, or the kernel does not count.
std::optional<std::uint64_t> device_busy_ns(std::uint32_t device);

/// The same of all whole devices.
std::map<std::uint32_t, std::uint64_t> busy_ns_of_devices();

}  // namespace tracer::internal
