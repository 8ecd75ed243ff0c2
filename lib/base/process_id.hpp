// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include <tracer/process.hpp>

namespace tracer::internal {

/// Which process of this host: a pid alone may be another's later.
struct ProcessId {
  std::uint64_t start_ns = 0;
  std::uint32_t pid = 0;

  auto operator<=>(const ProcessId&) const = default;
};

inline ProcessId id_of(const Process& process) noexcept { return {process.start_ns, process.pid}; }

/// Those that have had a pid are side by side, the earliest first.
struct ByPid {
  bool operator()(const ProcessId& one, const ProcessId& other) const noexcept {
    return one.pid != other.pid ? one.pid < other.pid : one.start_ns < other.start_ns;
  }
};

struct ProcessIdHash {
  std::size_t operator()(const ProcessId& id) const noexcept {
    return static_cast<std::size_t>(id.start_ns * 0x9e3779b97f4a7c15u + id.pid);
  }
};

}  // namespace tracer::internal
