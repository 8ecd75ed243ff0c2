// SPDX-License-Identifier: Apache-2.0
#include "run/user.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include <fmt/format.h>

#include "base/home_folder.hpp"
#include "base/number.hpp"
#include "base/unique_fd.hpp"
#include "run/reap.hpp"

extern char** environ;

namespace tracer {
namespace {

[[noreturn]] void refuse(int error_number) {
  throw Error({ErrorCode::kInternal, error_number, "/usr/bin/id can't be asked for a user", {}, {}});
}

/// What `id` prints: it asks all of the system's user databases, which a static program can't. Absent: they don't know.
/// Throws Error(kInternal).
std::optional<std::string> ask_id(std::vector<std::string> words) {
  words.insert(words.begin(), "id");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse(errno);
  const internal::UniqueFd ours(ends[0]);
  internal::UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, "/usr/bin/id", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  theirs.reset();
  if (failed != 0) refuse(failed);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ours.get(), buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  // Where somebody else has reaped it, a whole line is an answer.
  const std::optional<int> status = internal::reap(pid);
  if (status && WIFSIGNALED(*status)) refuse(0);
  if ((status && *status != 0) || !text.ends_with('\n')) return std::nullopt;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

User find_user(const std::string& name_or_uid) {
  const auto uid_text = ask_id({"-u", "--", name_or_uid});
  const auto gid_text = ask_id({"-g", "--", name_or_uid});
  const auto groups_text = ask_id({"-G", "--", name_or_uid});
  const auto name = ask_id({"-un", "--", name_or_uid});
  User user;
  const auto numeric = internal::parse_number<uid_t>(name_or_uid);
  const auto uid = uid_text ? internal::parse_number<uid_t>(*uid_text) : numeric;
  // All ones: for the kernel "as before", and the command would run as root.
  if (!uid || *uid == static_cast<uid_t>(-1))
    throw Error({ErrorCode::kNoSuchUser,
                 0,
                 fmt::format("there is no user {}", name_or_uid),
                 "give the name or the number of a user of this machine",
                 {}});
  user.uid = *uid;
  const auto gid = gid_text ? internal::parse_number<gid_t>(*gid_text) : std::nullopt;
  // Whom the databases know has groups: to go on without them would be to run as somebody else.
  if (uid_text && (!gid || !groups_text)) refuse(0);
  // A number that no database knows has no group either: nobody's, as a group of the same number may mean much.
  constexpr gid_t kNoGroup = 65534;
  user.gid = gid.value_or(kNoGroup);
  user.name = name.value_or(name_or_uid);
  user.home = internal::home_folder(user.uid);
  std::istringstream words(groups_text.value_or(""));
  for (std::string word; words >> word;)
    if (const auto group = internal::parse_number<gid_t>(word)) user.groups.push_back(*group);
  return user;
}

namespace internal {

// By system call: the C library's functions would have every thread become that user, and take locks.
bool become(const User& user) noexcept {
  if (::geteuid() == 0 && ::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return false;
  return ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

void drop_inherited_capabilities() noexcept {
  if (::geteuid() == 0) return;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return;
  for (__user_cap_data_struct& set : sets) set.inheritable = 0;
  ::syscall(SYS_capset, &header, sets);
}

}  // namespace internal
}  // namespace tracer
