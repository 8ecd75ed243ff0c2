// SPDX-License-Identifier: Apache-2.0
#include "base/quiet_thread.hpp"

#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>

#include <tracer/error.hpp>

namespace tracer::internal {

std::thread start_quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error({ErrorCode::kNoMemory,
                 error.code().value(),
                 "can't start a thread",
                 "raise the limit of processes (ulimit -u), or free memory",
                 {}});
  }
}

void drop_capabilities_of_this_thread() noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, kept) != 0) return;
  constexpr std::uint32_t kOfUser = 1u << CAP_SETUID | 1u << CAP_SETGID;
  kept[0].effective &= kOfUser;
  kept[0].permitted &= kOfUser;
  kept[0].inheritable = 0;
  kept[1] = {};
  ::syscall(SYS_capset, &header, kept);
}

}  // namespace tracer::internal
