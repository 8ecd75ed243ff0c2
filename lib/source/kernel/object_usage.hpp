// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

struct bpf_object;
struct bpf_program;

namespace tracer {

/// What the kernel has counted of a loaded object's programs.
struct ProgramSums {
  std::uint64_t run_ns = 0;  ///< Only while kernel.bpf_stats_enabled is set.
  std::uint64_t recursion_misses = 0;
};
/// But for programs whose name begins with `but_not`, if it is not empty.
ProgramSums sums_of_programs(const bpf_object& object, std::string_view but_not = {});
ProgramSums sums_of(const bpf_program& program);

/// True while the kernel measures programs; read from kernel.bpf_stats_enabled.
bool programs_are_timed();

/// Memory of all maps of these objects, each once. Null pointers are passed over.
std::uint64_t map_memory_bytes(std::initializer_list<const bpf_object*> objects);

}  // namespace tracer
