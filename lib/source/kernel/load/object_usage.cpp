// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/object_usage.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer::internal {

ProgramSums sums_of(const bpf_program& program) {
  const int fd = ::bpf_program__fd(&program);
  bpf_prog_info info{};
  __u32 size = sizeof info;
  if (fd < 0 || ::bpf_obj_get_info_by_fd(fd, &info, &size) != 0) return {};
  return {info.run_time_ns, info.recursion_misses};
}

ProgramSums sums_of_programs(const bpf_object& object) {
  ProgramSums sums;
  const bpf_program* program = nullptr;
  while ((program = ::bpf_object__next_program(&object, const_cast<bpf_program*>(program))) != nullptr) {
    const ProgramSums more = sums_of(*program);
    sums.run_ns += more.run_ns;
    sums.recursion_misses += more.recursion_misses;
  }
  return sums;
}

bool programs_are_timed() {
  const auto text = read_small_file("/proc/sys/kernel/bpf_stats_enabled");
  return text && text->starts_with('1');
}

std::uint64_t map_memory_bytes(std::span<const bpf_object* const> objects) {
  std::uint64_t sum = 0;
  std::set<__u32> counted;
  for (const bpf_object* object : objects) {
    const bpf_map* map = nullptr;
    while ((map = ::bpf_object__next_map(object, map)) != nullptr) {
      bpf_map_info info{};
      __u32 size = sizeof info;
      const int fd = ::bpf_map__fd(map);
      if (fd < 0 || ::bpf_obj_get_info_by_fd(fd, &info, &size) != 0 || !counted.insert(info.id).second) continue;
      const auto text = read_small_file(fmt::format("/proc/self/fdinfo/{}", fd));
      const std::size_t at = text ? text->find("memlock:") : std::string::npos;
      if (at != std::string::npos) sum += std::strtoull(text->c_str() + at + 8, nullptr, 10);
    }
  }
  return sum;
}

}  // namespace tracer::internal
