// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <tracer/export.hpp>

namespace tracer {

/// The machine, and its clocks, that events come from, and the session that reported them.
struct HostInfo {
  std::string boot_id;  ///< /proc/sys/kernel/random/boot_id
  std::string host_name;
  std::string kernel_release;  ///< The output of uname -r.
  std::string architecture;
  std::uint32_t cpu_count = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t wall_offset_ns = 0;  ///< Add it to a time of the boot clock to get Unix time; read with this.
  std::string tracer_version;
  std::string session_id;  ///< 16 hexadecimal digits, different for each session. Empty: no session.

  bool operator==(const HostInfo&) const = default;
};

/// One JSON object with `kind` "host" first, without a line end: the head of dumps.
TRACER_EXPORT std::string to_json(const HostInfo& host);

/// This machine.
TRACER_EXPORT HostInfo this_host();

}  // namespace tracer
