// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

struct bpf_object;
struct bpf_program;

namespace tracer::internal {

/// What the kernel has counted of a loaded object's programs.
struct ProgramSums {
  std::uint64_t run_ns = 0;  ///< Only while kernel.bpf_stats_enabled is set.
  std::uint64_t recursion_misses = 0;
};
ProgramSums sums_of_programs(const bpf_object& object);
ProgramSums sums_of(const bpf_program& program);

/// True while the kernel measures programs; read from kernel.bpf_stats_enabled.
bool programs_are_timed();

/// Memory of all maps of these objects, each once.
std::uint64_t map_memory_bytes(std::span<const bpf_object* const> objects);

}  // namespace tracer::internal
