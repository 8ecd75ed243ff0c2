// SPDX-License-Identifier: Apache-2.0
/// Running a command so that a session sees all of it, from its first instruction to its last switch.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>

namespace tracer {

class Session;

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string name;
  std::optional<std::string> home;
};

/// By name or number, from all user databases of the system (it runs `id`). Throws Error: kNoSuchUser; kInternal if
/// they can't be asked.
TRACER_EXPORT User find_user(const std::string& name_or_uid);

/// A path without slashes at its end: with one a link is followed whatever is asked for.
TRACER_EXPORT std::string without_slashes(std::string name);

/// What to open for a path that may be a link, or lead to further ones.
struct LinkEnd {
  std::filesystem::path path;
  bool follow = false;  ///< A link that it is may be followed; else O_NOFOLLOW keeps one out that takes its place.
};

/// Root goes as far as its own links lead: one of somebody else, who could have any file of root's be cut, is refused
/// (absent, with errno ELOOP). Others follow whatever is there. Links that are folders on the way are followed.
TRACER_EXPORT std::optional<LinkEnd> end_of_links(std::filesystem::path file);

/// Opens a file for writing with the rights of `user`, and creates it for its owner only if it is not there; it is not
/// cut, and what is written is appended. Close-on-exec. Absent: with the rights of the caller. Throws Error:
/// kFileUnwritable, kPermission.
TRACER_EXPORT int open_as(const std::optional<User>& user, const std::filesystem::path& file);

/// The command of an ordinary user inherits no capabilities, as those of the caller are for tracing.
struct CommandOptions {
  std::vector<std::string> argv;  ///< Not empty. The first word is looked up in PATH, unless it has a '/'.
  std::optional<User> user = {};  ///< Absent: who the caller is. With USER, LOGNAME and HOME of that user.
  /// Called in the new process before it executes the command, as that user: to change its folder, its descriptors or
  /// its signals. Only what is async-signal-safe; must not throw.
  std::function<void()> prepare = {};
  /// "NAME=value" each; its PATH is the one that counts. Absent: the caller's environment. Of another user than the
  /// caller: without SHELL, MAIL, DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR and XDG_…_HOME.
  std::optional<std::vector<std::string>> environment = {};
  /// For a session that follows the caller already: it executes with the constructor, which waits for that, and
  /// release() only reports whether it could. The caller's memory is not copied, however large it is. With a user it
  /// has no effect.
  bool at_once = false;
  /// The terminal is that user's own, as under sudo. Else the command can't type into it (TIOCSTI), by a seccomp
  /// filter.
  bool owns_terminal = false;
};

/// How a command has ended.
struct CommandEnd {
  std::optional<int> wait_status = {};  ///< Absent: somebody else has waited for its pid, or SIGCHLD is ignored.
};

/// A command that waits to be executed until release(), so that a session can be started on its pid before.
/// Not thread-safe. ended() reaps it: where somebody else does, as a handler of SIGCHLD for all children, its status is
/// lost.
class TRACER_EXPORT Command {
 public:
  /// Forks. Throws Error: kInvalidArgument, kInternal.
  explicit Command(CommandOptions options);
  /// A command that was never released ends; one that runs goes on, as one that was started at once.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// Lets it execute. Throws Error if it can't: kCommandNotFound, kCommandNotExecutable, kPermission.
  void release();
  /// Once, when it has ended; does not wait.
  std::optional<CommandEnd> ended() noexcept;
  /// Sends it a signal. 0, or why not: ESRCH (ended() or somebody else has reaped it), EINVAL, EPERM.
  int signal(int number) const noexcept;

 private:
  std::string name_;
  pid_t pid_ = -1;
  int channel_ = -1;     ///< To the process that waits; -1: released.
  int start_error_ = 0;  ///< Of the start at once; 0: none, or it was reported.
  bool reaped_ = false;
};

/// Follows a command's own process through the events of a session. A subscriber passes all events; any thread may ask.
class TRACER_EXPORT CommandTrace {
 public:
  explicit CommandTrace(pid_t pid) : pid_(static_cast<std::uint32_t>(pid)) {}

  /// False: the event is no part of the command. Until its first exec, its process is a copy of the caller.
  bool saw(const Event& event);
  /// Its last switch was seen: its accounts are final. A parent hears of the end a moment before.
  bool ended() const noexcept { return ended_; }
  /// The arguments of its first program, secrets masked, and so fit to be shown; empty until it was seen, and always
  /// if that was lost. Only once no event is being dispatched.
  const std::vector<std::string>& argv() const noexcept { return argv_; }

 private:
  std::uint32_t pid_;
  bool began_ = false;
  std::atomic<bool> ended_ = false;
  std::vector<std::string> argv_;
};

/// Reader::kPoll: polls until the trace has ended. False: it has not, within `timeout` or before the session's end; its
/// exit may have been lost. A negative timeout waits without a limit.
TRACER_EXPORT bool poll_until_ended(Session& session, const CommandTrace& trace, std::chrono::milliseconds timeout);

}  // namespace tracer
