// SPDX-License-Identifier: Apache-2.0
#include <tracer/host.hpp>

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <tracer/version.hpp>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace tracer {
HostInfo this_host() {
  HostInfo host;
  if (auto text = internal::read_small_file("/proc/sys/kernel/random/boot_id")) host.boot_id = internal::trim(*text);
  utsname names{};
  if (::uname(&names) == 0) {
    host.host_name = names.nodename;
    host.kernel_release = names.release;
    host.architecture = names.machine;
  }
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  host.cpu_count = cpus > 0 ? static_cast<std::uint32_t>(cpus) : 0;
  struct sysinfo memory {};
  if (::sysinfo(&memory) == 0) host.memory_bytes = static_cast<std::uint64_t>(memory.totalram) * memory.mem_unit;
  const std::uint64_t boot = internal::boot_time_ns();
  host.wall_offset_ns = internal::clock_ns(CLOCK_REALTIME) - boot;
  host.tracer_version = TRACER_VERSION;
  return host;
}

}  // namespace tracer
