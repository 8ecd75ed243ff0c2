// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

namespace tracer::internal {

/// Who asks: what is allowed, and which thread is meant, is judged by this and not by who answers.
struct Caller {
  pid_t pid = 0;
  pid_t tid = 0;
  uid_t uid = 0;  ///< Effective.
};

/// The calling thread.
inline Caller this_caller() noexcept { return {::getpid(), ::gettid(), ::geteuid()}; }

}  // namespace tracer::internal
