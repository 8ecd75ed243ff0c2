// SPDX-License-Identifier: Apache-2.0
/// Feeds what a driver's files and tracer-gpu may say. The first byte chooses: a file of /proc/PID/fdinfo, or lines.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "source/gpu/nvml_state.hpp"
#include "source/gpu/nvml_uses.hpp"
#include "source/proc/drm_fdinfo.hpp"

using namespace tracer::internal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) == 0) {
    DrmClient client;
    if (parse_drm_fdinfo(text, client) != DrmText::kClient) return 0;
    if (client.driver.empty() || client.engines.size() > 64) __builtin_trap();
    for (const auto& [name, engine] : client.engines)
      if (engine.capacity == 0) __builtin_trap();
    return 0;
  }
  NvmlLines lines;
  NvmlUses uses;
  const std::size_t part = 1 + data[0] / 2u;
  for (std::size_t at = 0; at < text.size(); at += part) {
    lines.take(text.substr(at, part));
    const auto state = lines.take_state();
    if (!state) continue;
    for (const auto& record : uses.take(*state, {{1, 0}, {42, 100}}, 1'000'000'000'000)) {
      const tracer::GpuSample& sample = record.sample;
      if (sample.since_ns && *sample.since_ns > sample.time_ns) __builtin_trap();
      if (sample.busy_ns && *sample.busy_ns > sample.time_ns - *sample.since_ns) __builtin_trap();
      if (sample.memory_bytes && sample.gpu_capacity_bytes && *sample.memory_bytes > *sample.gpu_capacity_bytes)
        __builtin_trap();
    }
  }
  return 0;
}
