// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracer::internal {

/// Gives the value of each CPU; none when there is no such key.
template <class Value, class Function>
void for_each_cpu_value(int map, std::uint32_t key, Function function) {
  static_assert(sizeof(Value) % 8 == 0);
  const auto cpus = static_cast<std::size_t>(std::max(::libbpf_num_possible_cpus(), 1));
  std::vector<Value> values(cpus);
  if (::bpf_map_lookup_elem(map, &key, values.data()) != 0) return;
  for (const Value& value : values) function(value);
}

}  // namespace tracer::internal
