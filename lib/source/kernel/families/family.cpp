// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/family.hpp"

#include <sstream>

#include "source/kernel/per_cpu.hpp"

namespace tracer::internal {

std::map<std::string, std::uint64_t> KernelFamily::losses() const {
  std::map<std::string, std::uint64_t> losses;
  const bpf_map* map = ::bpf_object__find_map_by_name(object(), "losses");
  if (map == nullptr) return losses;
  std::istringstream names{std::string(info_of(id()).losses)};
  std::uint32_t cause = 0;
  for (std::string name; names >> name; ++cause) {
    std::uint64_t sum = 0;
    for_each_cpu_value<std::uint64_t>(::bpf_map__fd(map), cause, [&sum](std::uint64_t value) { sum += value; });
    if (sum != 0) losses[name] = sum;
  }
  return losses;
}

}  // namespace tracer::internal
