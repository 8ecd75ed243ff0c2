// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/format.h>

#include <tracer/check.hpp>
#include <tracer/host.hpp>

#include "commands.hpp"
#include "printable.hpp"

namespace tracerd {

int check_command(const Options& options) {
  if (options.rules) {
    tracer::check_engine_rules(*options.rules);
    fmt::print("{}: no mistakes\n", printable(*options.rules));
    return 0;
  }
  const tracer::HostInfo host = tracer::this_host();
  const tracer::CheckReport report = tracer::check();
  fmt::print("Linux {} on {}, {} CPUs\n\n", host.kernel_release, host.architecture, host.cpu_count);
  for (const tracer::CheckItem& item : report.items) {
    const char* state = item.available ? "ok      " : item.required ? "MISSING " : "absent  ";
    fmt::print("{}{}: {}\n", state, item.name, item.effect);
    if (!item.problem) continue;
    fmt::print("          {} [{}]\n", item.problem->what, to_string(item.problem->code));
    if (!item.problem->fix.empty()) fmt::print("          fix: {}\n", item.problem->fix);
  }
  fmt::print(
      "\nNot visible on any kernel: bytes moved by io_uring, splice or mapped files (read_bytes, written_bytes).\n");
  fmt::print("\n{}\n",
             report.usable() ? "tracing works here" : "tracing does not work here: what is MISSING is required");
  return report.usable() ? 0 : 1;
}

}  // namespace tracerd
