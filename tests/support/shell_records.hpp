// SPDX-License-Identifier: Apache-2.0
/// Records of a shell and its child, for tests of what is made of them.
#pragma once

#include <cstdint>
#include <string>

#include "collect.hpp"
#include "wire_builder.hpp"

namespace tracer::shell_records {

inline const wire::Who kShell{.pid = 100, .start_ns = 1000, .pid_namespace = 11, .mount_namespace = 22, .comm = "bash"};
inline const wire::Who kChild = wire::child_of(kShell, 101, 2000);
inline const wire::Who kReparented{
    .pid = 100, .start_ns = 1000, .parent_pid = 50, .parent_start_ns = 500, .comm = "bash"};

inline wire::Exec exec_of(std::uint64_t time_ns, std::uint64_t program_start_ns, std::string exe) {
  return {.time_ns = time_ns, .program_start_ns = program_start_ns, .exe = exe, .argv = {exe, "-x"}};
}

inline void start_shell(collect::Stages& stages) {
  stages.push(wire::start_record(kShell));
  stages.push(wire::exec_record(kShell, exec_of(1100, 1000, "/bin/bash")));
}

}  // namespace tracer::shell_records
