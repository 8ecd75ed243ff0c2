// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <tracer/export.hpp>

namespace tracer {

/// How much room a session has in the kernel. What each costs, and what happens at its bound: docs/scale.md.
struct Scale {
  std::size_t ring_bytes = 0;
  std::size_t max_processes = 0;
  std::size_t max_threads = 0;
  std::size_t max_cgroups = 0;
};

/// What suits a machine: more with its CPUs, together at most a 64th of its memory, and never less than what a laptop
/// needs (1 MiB, 8192 each).
TRACER_EXPORT Scale scale_for(std::uint32_t cpus, std::uint64_t memory_bytes) noexcept;

/// Of this machine; read once.
TRACER_EXPORT const Scale& scale_of_this_machine();

}  // namespace tracer
