// SPDX-License-Identifier: Apache-2.0
#include "privileges.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracerd {

std::optional<tracer::User> user_to_run_as(const std::optional<std::string>& wanted) {
  if (wanted) {
    tracer::User user = tracer::find_user(*wanted);
    if (user.uid != ::geteuid() && ::geteuid() != 0)
      throw tracer::Error({tracer::ErrorCode::kPermission,
                           EPERM,
                           fmt::format("only root may run a command as {}", user.name),
                           "leave --user out, or use sudo",
                           {}});
    return user;
  }
  const char* caller = std::getenv("SUDO_UID");
  if (::geteuid() != 0 || caller == nullptr) return std::nullopt;
  const std::string_view digits = caller;
  // To go on would be to run the command as root.
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    throw tracer::Error({tracer::ErrorCode::kNoSuchUser,
                         0,
                         fmt::format("SUDO_UID is '{}', which is no user's number", digits),
                         "use sudo, or unset SUDO_UID, or name the user with --user",
                         {}});
  return tracer::find_user(caller);
}

void go_ahead_of_others() noexcept {
  constexpr int kNice = -15;
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  if (errno == 0 && nice > kNice) ::setpriority(PRIO_PROCESS, 0, kNice);
}

namespace {

/// Nobody's: what it owned, others of that user could stop or trace. The capabilities stay for the moment.
void leave_root() noexcept {
  constexpr uid_t kNobodyElse = 2147483646;
  if (::geteuid() != 0) return;
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (::setgroups(0, nullptr) == 0 && ::setresgid(kNobodyElse, kNobodyElse, kNobodyElse) == 0)
    static_cast<void>(::setresuid(kNobodyElse, kNobodyElse, kNobodyElse) == 0);
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
}

void keep_in_bounding_set(std::uint64_t needed) noexcept {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    if (((needed >> capability) & 1u) == 0) ::prctl(PR_CAPBSET_DROP, capability);
}

/// All sets but the bounding one, and for what is executed.
void keep_capabilities(std::uint64_t needed) noexcept {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  for (unsigned word = 0; word < 2; ++word) {
    const auto keep = static_cast<std::uint32_t>(needed >> (32 * word));
    data[word].permitted &= keep;
    data[word].effective = data[word].permitted;
    data[word].inheritable = 0;
  }
  ::syscall(SYS_capset, &header, data);
}

}  // namespace

void drop_privileges() noexcept {
  constexpr std::uint64_t kNeeded = (1ull << CAP_BPF) | (1ull << CAP_PERFMON) | (1ull << CAP_KILL) |
                                    (1ull << CAP_SYS_PTRACE) | (1ull << CAP_DAC_READ_SEARCH);
  // Fails without CAP_SETPCAP: then nothing that is executed gets any, by no_new_privs.
  keep_in_bounding_set(kNeeded);
  leave_root();
  keep_capabilities(kNeeded);
}

void become_reader() noexcept {
  keep_in_bounding_set(0);
  leave_root();
  keep_capabilities(0);
}

bool become_for_files(const std::optional<tracer::User>& user) noexcept {
  const bool root = ::geteuid() == 0;
  const bool other = user && user->uid != ::geteuid();
  const std::uint64_t needed = root && !other ? 1ull << CAP_DAC_OVERRIDE : 0;
  keep_in_bounding_set(needed);
  if (root && other) {
    if (::setgroups(user->groups.size(), user->groups.data()) != 0 ||
        ::setresgid(user->gid, user->gid, user->gid) != 0 || ::setresuid(user->uid, user->uid, user->uid) != 0)
      return false;
  }
  keep_capabilities(needed);
  return true;
}

void act_for_caller() {
  if (!become_for_files(user_to_run_as(std::nullopt)))
    throw tracer::Error({tracer::ErrorCode::kPermission, errno, "can't act as who called sudo", {}, {}});
}

}  // namespace tracerd
