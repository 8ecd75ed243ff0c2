// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer.h>
#include <tracer/host.hpp>

#include "guard.hpp"
#include "sizes.hpp"

namespace tracer::c {

/// Valid as long as `host`.
inline tracer_host host_in_c(const HostInfo& host) noexcept {
  return {0,
          string_of(host.boot_id),
          string_of(host.host_name),
          string_of(host.kernel_release),
          string_of(host.architecture),
          string_of(host.tracer_version),
          string_of(host.session_id),
          host.memory_bytes,
          host.wall_offset_ns,
          host.cpu_count,
          0};
}

/// Throws Refusal.
inline HostInfo host_of(const tracer_host* pointer) {
  const tracer_host given = take(pointer, "host");
  check_reserved(given.reserved, "host");
  HostInfo host;
  host.boot_id = text_or_empty(given.boot_id, "host->boot_id");
  host.host_name = text_or_empty(given.host_name, "host->host_name");
  host.kernel_release = text_or_empty(given.kernel_release, "host->kernel_release");
  host.architecture = text_or_empty(given.architecture, "host->architecture");
  host.tracer_version = text_or_empty(given.tracer_version, "host->tracer_version");
  host.session_id = text_or_empty(given.session_id, "host->session_id");
  host.memory_bytes = given.memory_bytes;
  host.wall_offset_ns = given.wall_offset_ns;
  host.cpu_count = given.cpu_count;
  return host;
}

/// A copy of the caller's descriptor. Throws Error.
int copy_of(int fd, ErrorCode code);
/// Throws Refusal for an empty one.
std::string path_of(tracer_string path);

}  // namespace tracer::c
