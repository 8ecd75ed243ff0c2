// SPDX-License-Identifier: Apache-2.0
#include "process/privileges.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
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
                         fmt::format("SUDO_UID is '{}', which is not a user's number", digits),
                         "use sudo, or unset SUDO_UID, or name the user with --user",
                         {}});
  return tracer::find_user(caller);
}

namespace {

constexpr int kNice = -15;

/// True: this process began its session, and nothing else is in it. False also where /proc can't tell.
bool is_alone_in_session() noexcept try {
  const pid_t self = ::getpid();
  if (::getsid(0) != self || std::filesystem::read_symlink("/proc/self") != std::to_string(self)) return false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::atoi(name.c_str());
    const pid_t session = ::getsid(pid);
    // Only who has ended is certainly not in it.
    if (pid != self && (session == self || (session < 0 && errno != ESRCH))) return false;
  }
  return true;
} catch (const std::exception&) {
  return false;
}

/// That of the session, as /proc/self/autogroup tells it: "/autogroup-12 nice 0".
std::optional<int> nice_of_session(int file) noexcept {
  char text[64] = {};
  [[maybe_unused]] const ssize_t got = ::pread(file, text, sizeof text - 1, 0);
  const char* nice = std::strstr(text, " nice ");
  if (nice == nullptr) return std::nullopt;
  return std::atoi(nice + 6);
}

}  // namespace

void go_ahead_of_others() noexcept {
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  if (errno == 0 && nice > kNice) ::setpriority(PRIO_PROCESS, 0, kNice);
}

void go_ahead_of_other_sessions() noexcept {
  const int file = ::open("/proc/self/autogroup", O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  if (nice_of_session(file).value_or(kNice) > kNice && is_alone_in_session()) ::dprintf(file, "%d", kNice);
  ::close(file);
}

namespace {

[[noreturn]] void refuse_to_go_on(const char* what) {
  throw tracer::Error(
      {tracer::ErrorCode::kPermission,
       errno,
       fmt::format("{} can't be given up", what),
       "allow the system calls setgroups, setresgid, setresuid, capset and prctl, which a seccomp filter "
       "may refuse; as root, keep CAP_SETUID and CAP_SETGID until then",
       {}});
}

bool is_root() noexcept {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  return ::getresuid(&real, &effective, &saved) != 0 || real == 0 || effective == 0 || saved == 0;
}

/// What a system call said that it did.
bool held(bool is_so) noexcept {
  if (!is_so) errno = EPERM;
  return is_so;
}

/// Nobody's: what it owned, others of that user could stop or trace. The capabilities stay for the moment.
bool left_root() noexcept {
  if (!is_root()) return true;
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  // EINVAL: a user namespace that doesn't have that number. Its root is an ordinary user outside.
  if (::setresgid(kNobodyElse, kNobodyElse, kNobodyElse) != 0) return errno == EINVAL;
  if (::setgroups(0, nullptr) != 0 || ::setresuid(kNobodyElse, kNobodyElse, kNobodyElse) != 0) return false;
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  gid_t groups[3] = {};
  return ::getresgid(&groups[0], &groups[1], &groups[2]) == 0 &&
         held(!is_root() && groups[0] == kNobodyElse && groups[1] == kNobodyElse && groups[2] == kNobodyElse &&
              ::getgroups(0, nullptr) == 0);
}

void keep_in_bounding_set(std::uint64_t needed) noexcept {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    if (((needed >> capability) & 1u) == 0) ::prctl(PR_CAPBSET_DROP, capability);
}

bool has_only(std::uint64_t needed) noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  for (unsigned word = 0; word < 2; ++word) {
    const auto others = ~static_cast<std::uint32_t>(needed >> (32 * word));
    if (((data[word].permitted | data[word].effective) & others) != 0 || data[word].inheritable != 0)
      return held(false);
  }
  return held(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

/// All sets but the bounding one, and for what is executed. False: some are left.
bool keep_capabilities(std::uint64_t needed) noexcept {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  for (unsigned word = 0; word < 2; ++word) {
    const auto keep = static_cast<std::uint32_t>(needed >> (32 * word));
    data[word].permitted &= keep;
    data[word].effective = data[word].permitted;
    data[word].inheritable = 0;
  }
  return ::syscall(SYS_capset, &header, data) == 0 && has_only(needed);
}

void give_up_all_but(std::uint64_t needed) {
  // Fails without CAP_SETPCAP: then nothing that is executed gets any, by no_new_privs.
  keep_in_bounding_set(needed);
  if (!left_root()) refuse_to_go_on("root's uid");
  if (!keep_capabilities(needed)) refuse_to_go_on("capabilities");
}

}  // namespace

namespace {

constexpr std::uint64_t kToTrace =
    (1ull << CAP_BPF) | (1ull << CAP_PERFMON) | (1ull << CAP_SYS_PTRACE) | (1ull << CAP_DAC_READ_SEARCH);

}  // namespace

void drop_privileges() { give_up_all_but(kToTrace | (1ull << CAP_KILL)); }

void drop_privileges_to_serve() { give_up_all_but(kToTrace); }

void become_reader() { give_up_all_but(0); }

bool become_for_files(const std::optional<tracer::User>& user) noexcept {
  const bool root = ::geteuid() == 0;
  const bool other = user && user->uid != ::geteuid();
  const std::uint64_t needed = root && !other ? 1ull << CAP_DAC_OVERRIDE : 0;
  keep_in_bounding_set(needed);
  if (root && other) {
    if (::setgroups(user->groups.size(), user->groups.data()) != 0 ||
        ::setresgid(user->gid, user->gid, user->gid) != 0 || ::setresuid(user->uid, user->uid, user->uid) != 0)
      return false;
    if (!held(::getuid() == user->uid && !is_root())) return false;
  }
  return keep_capabilities(needed);
}

void act_for_caller() {
  if (!become_for_files(user_to_run_as(std::nullopt))) refuse_to_go_on("rights of root");
}

}  // namespace tracerd
