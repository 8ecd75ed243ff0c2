// SPDX-License-Identifier: Apache-2.0
#include "rights.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tracer_gpu {
namespace {

/// Owns no file and no process; as tracerd itself.
constexpr uid_t kNobody = 2147483646;

void limit(__rlimit_resource_t resource, rlim_t most) noexcept {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0 || now.rlim_max <= most) return;
  const rlimit lower{most, most};
  ::setrlimit(resource, &lower);
}

bool has_capabilities() noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, held) != 0) return true;
  return (held[0].effective | held[0].permitted | held[1].effective | held[1].permitted) != 0;
}

}  // namespace

bool give_up_rights() noexcept {
  ::syscall(SYS_close_range, 3u, ~0u, 0u);
  if (::chdir("/") != 0) return false;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 256);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_DATA, 1ul << 30);
#endif
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Without this user, as in some user namespaces, root there stays itself, who is an ordinary user outside.
  if (::geteuid() == 0) {
    ::setgroups(0, nullptr);
    ::setresgid(kNobody, kNobody, kNobody);
    ::setresuid(kNobody, kNobody, kNobody);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  ::syscall(SYS_capset, &header, none);
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && !has_capabilities();
}

}  // namespace tracer_gpu
