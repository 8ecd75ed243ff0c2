// SPDX-License-Identifier: Apache-2.0
#include "source/source_request.hpp"

#include <signal.h>

#include <cerrno>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "source/proc/cgroup_files.hpp"

namespace tracer::internal {
namespace {

void require_process(std::uint64_t number, bool own_uid_only) {
  const auto pid = static_cast<pid_t>(number);
  const int error_number = pid > 0 && ::kill(pid, 0) == 0 ? 0 : pid > 0 ? errno : ESRCH;
  if (error_number == EPERM && own_uid_only)
    throw Error({ErrorCode::kPermission,
                 EPERM,
                 fmt::format("process {} belongs to another user", number),
                 "use sudo: without root only your own processes can be followed",
                 {}});
  if (error_number == 0 || error_number == EPERM) return;
  throw Error({ErrorCode::kFilterNamesNothing,
               0,
               fmt::format("there is no process {}", number),
               "name a living process, as this process's pid namespace shows it",
               {}});
}

}  // namespace

void require_named(const Filter::Rule& rule, bool own_uid_only) {
  if (rule.subject == Filter::Subject::kTree) require_process(rule.number, own_uid_only);
  if (rule.subject == Filter::Subject::kCgroup && !find_cgroup(rule.text))
    throw Error({ErrorCode::kFilterNamesNothing,
                 0,
                 fmt::format("there is no cgroup {}", rule.text),
                 "give its path as in /proc/PID/cgroup, or its folder below a mounted cgroup file system",
                 {}});
}

}  // namespace tracer::internal
