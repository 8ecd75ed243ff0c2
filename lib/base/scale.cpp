// SPDX-License-Identifier: Apache-2.0
#include <tracer/scale.hpp>

#include <algorithm>
#include <bit>

#include <tracer/host.hpp>

#include "base/most_processes.hpp"
#include "base/scale_cost.hpp"

namespace tracer {
namespace {

struct Bounds {
  std::size_t for_each_cpu;
  std::size_t usual;  ///< The least, where there is memory for it.
  std::size_t most;
  std::size_t least;
  /// Of kernel memory, for one: docs/scale.md.
  std::uint64_t cost_bytes;
};

constexpr Bounds kRing{128u << 10, 1u << 20, 64u << 20, 1u << 20, 1};
constexpr Bounds kProcesses{1024, 32768, internal::kMostLivingProcesses, 8192, 568};
constexpr Bounds kThreads{4096, 32768, 1048576, 8192, 424};
constexpr Bounds kCgroups{256, 16384, 131072, 8192, 132};

std::size_t usual_size(const Bounds& bounds, std::uint32_t cpus) noexcept {
  return std::clamp(std::bit_ceil(bounds.for_each_cpu * std::max(cpus, 1u)), bounds.usual, bounds.most);
}

}  // namespace

std::uint64_t internal::scale_cost_bytes(const Scale& scale) noexcept {
  return scale.ring_bytes * kRing.cost_bytes + scale.max_processes * kProcesses.cost_bytes +
         scale.max_threads * kThreads.cost_bytes + scale.max_cgroups * kCgroups.cost_bytes;
}

Scale scale_for(std::uint32_t cpus, std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t kShareOfMemory = 64;
  Scale scale{usual_size(kRing, cpus), usual_size(kProcesses, cpus), usual_size(kThreads, cpus),
              usual_size(kCgroups, cpus)};
  struct Part {
    std::size_t& size;
    const Bounds& bounds;
    std::uint64_t bytes() const noexcept { return size * bounds.cost_bytes; }
  };
  Part parts[] = {{scale.max_threads, kThreads},
                  {scale.max_processes, kProcesses},
                  {scale.max_cgroups, kCgroups},
                  {scale.ring_bytes, kRing}};
  for (;;) {
    Part* dearest = nullptr;
    for (Part& part : parts)
      if (part.size > part.bounds.least && (dearest == nullptr || part.bytes() > dearest->bytes())) dearest = &part;
    if (internal::scale_cost_bytes(scale) <= memory_bytes / kShareOfMemory || dearest == nullptr) return scale;
    dearest->size /= 2;
  }
}

const Scale& scale_of_this_machine() {
  static const Scale scale = [] {
    const HostInfo host = this_host();
    return scale_for(host.cpu_count, host.memory_bytes);
  }();
  return scale;
}

}  // namespace tracer
