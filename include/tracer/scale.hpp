// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <tracer/export.hpp>

namespace tracer {

/// The sizes of a session's buffers and tables in the kernel. docs/scale.md states their cost, and what happens when
/// they are full.
struct Scale {
  std::size_t ring_bytes = 0;
  std::size_t max_processes = 0;
  std::size_t max_threads = 0;
  std::size_t max_cgroups = 0;
};

/// Sizes that suit a machine: they grow with its CPUs, take together at most 1/64 of its memory, but are at least what
/// a laptop needs (1 MiB, 8192 each).
TRACER_EXPORT Scale scale_for(std::uint32_t cpus, std::uint64_t memory_bytes) noexcept;

/// Sizes for this machine; computed once.
TRACER_EXPORT const Scale& scale_of_this_machine();

}  // namespace tracer
