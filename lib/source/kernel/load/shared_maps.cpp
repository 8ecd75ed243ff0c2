// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/shared_maps.hpp"

#include <bpf/libbpf.h>

#include "source/kernel/load/libbpf_log.hpp"

namespace tracer::internal {

void share_maps(const bpf_object& from, bpf_object& to, std::span<const char* const> names, const LibbpfLog& log) {
  for (const char* name : names) {
    const int fd = ::bpf_map__fd(::bpf_object__find_map_by_name(&from, name));
    if (const int failed = ::bpf_map__reuse_fd(::bpf_object__find_map_by_name(&to, name), fd))
      refuse("share the maps of two families", -failed, log);
  }
}

}  // namespace tracer::internal
