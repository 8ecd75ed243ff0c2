// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <tracer/run.hpp>

namespace tracerd {

/// The user that `wanted` names, else the one who called sudo; absent: nobody else.
/// Throws tracer::Error: kNoSuchUser, kPermission.
std::optional<tracer::User> user_to_run_as(const std::optional<std::string>& wanted);

/// Before what is traced, so that nobody can keep it from reading in time, where it may (CAP_SYS_NICE). Threads that
/// are there already stay as they are.
void go_ahead_of_others() noexcept;

/// Where the kernel shares CPUs out among sessions first (autogroup), the above counts only within its own. Does
/// nothing where it may not, or where others are in the session, who would go ahead, too.
void go_ahead_of_other_sessions() noexcept;

/// For a process that does nothing but open, name and read files: for good it is `user`, or where that is absent and it
/// is root, root without any capability but that over files. False: that failed, see errno.
bool become_for_files(const std::optional<tracer::User>& user) noexcept;

/// For what reads only what it has opened: root's uid and all capabilities are given up for good.
/// Throws tracer::Error(kPermission) if that fails.
void become_reader();

/// become_for_files() as who called sudo, or else as root. Throws tracer::Error: kNoSuchUser, kPermission.
void act_for_caller();

/// Once the programs are loaded: gives up every capability that tracing does not need any more, and root's uid, which
/// owns files and processes without any; for good. Of the calling thread, and of those that it starts.
/// Throws tracer::Error(kPermission) if that fails.
void drop_privileges();
/// Whose it is then.
inline constexpr uid_t kNobodyElse = 2147483646;
/// Likewise where no command is there that signals could be passed on to.
void drop_privileges_to_serve();

}  // namespace tracerd
