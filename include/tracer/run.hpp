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

/// Finds a user by name or number, in all user databases of the system (it runs `id`). Throws Error: kNoSuchUser;
/// kInternal if the databases can't be asked.
TRACER_EXPORT User find_user(const std::string& name_or_uid);

/// A path without slashes at its end: with one, the kernel follows a link in spite of O_NOFOLLOW.
TRACER_EXPORT std::string without_slashes(std::string name);

/// The path to open for a path that may be a link, or lead to further ones.
struct LinkEnd {
  std::filesystem::path path;
  bool follow = false;  ///< The path may be a link to follow; else O_NOFOLLOW refuses a link that replaces it.
};

/// Root follows its own links; a link of another user, which could make root overwrite any file, is refused (absent,
/// with errno ELOOP). Other users follow all links. Links in the folders of the path are followed.
TRACER_EXPORT std::optional<LinkEnd> end_of_links(std::filesystem::path file);

/// Opens a file for appending, with the rights of `user`; absent: with those of the caller. Creates a missing file for
/// its owner only, and does not truncate an existing one. Close-on-exec. The caller owns the descriptor. Throws Error:
/// kFileUnwritable, kPermission.
TRACER_EXPORT int open_as(const std::optional<User>& user, const std::filesystem::path& file);

/// The command of an ordinary user inherits no capabilities, because the caller's are for tracing.
struct CommandOptions {
  std::vector<std::string> argv;  ///< Not empty. The first word is looked up in PATH, unless it has a '/'.
  std::optional<User> user = {};  ///< Absent: the caller. Sets USER, LOGNAME and HOME of that user.
  /// Called in the new process before it executes the command, as that user: to change its folder, its descriptors or
  /// its signals. It may do only what is async-signal-safe, and must not throw.
  std::function<void()> prepare = {};
  /// "NAME=value" each; PATH in it counts. Absent: the caller's environment; for another user without SHELL, MAIL,
  /// DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR and XDG_…_HOME.
  std::optional<std::vector<std::string>> environment = {};
  /// For a session that already follows the caller: the command executes in the constructor, which waits for that, and
  /// release() only reports whether it could. The caller's memory is not copied, however large it is. Has no effect
  /// with a user.
  bool at_once = false;
  /// The terminal is that user's own, as under sudo. Else a seccomp filter keeps the command from typing into it
  /// (TIOCSTI).
  bool owns_terminal = false;
};

/// How a command has ended.
struct CommandEnd {
  std::optional<int> wait_status = {};  ///< Absent: other code has waited for its pid, or SIGCHLD is ignored.
};

/// A command that waits until release() to execute, so that a session can start on its pid before. Not thread-safe.
/// ended() reaps it: if other code does, such as a handler of SIGCHLD for all children, its status is lost.
class TRACER_EXPORT Command {
 public:
  /// Forks. Throws Error: kInvalidArgument, kInternal.
  explicit Command(CommandOptions options);
  /// A command that was never released ends; one that runs, or was started at once, continues.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// Lets the command execute. Throws Error if it can't: kCommandNotFound, kCommandNotExecutable, kPermission.
  void release();
  /// Returns its end once, when it has ended; does not wait.
  std::optional<CommandEnd> ended() noexcept;
  /// Sends it a signal. Returns 0, or an error: ESRCH (ended() or other code has reaped it), EINVAL, EPERM.
  int signal(int number) const noexcept;

 private:
  std::string name_;
  pid_t pid_ = -1;
  int channel_ = -1;     ///< To the process that waits; -1: released.
  int start_error_ = 0;  ///< errno of a start at once; 0: none, or it was reported.
  bool reaped_ = false;
};

/// Follows a command's own process through the events of a session. A subscriber passes all events to saw(); any thread
/// may call ended().
class TRACER_EXPORT CommandTrace {
 public:
  explicit CommandTrace(pid_t pid) : pid_(static_cast<std::uint32_t>(pid)) {}

  /// False: the event is not part of the command. Until its first exec, its process is a copy of the caller.
  bool saw(const Event& event);
  /// True once its last switch was seen: its accounts are final. A parent is notified of the end a moment before.
  bool ended() const noexcept { return ended_; }
  /// The arguments of its first program, with secrets masked; empty until the program was seen, and always if it was
  /// lost. Call it only while no event is being dispatched.
  const std::vector<std::string>& argv() const noexcept { return argv_; }

 private:
  std::uint32_t pid_;
  bool began_ = false;
  std::atomic<bool> ended_ = false;
  std::vector<std::string> argv_;
};

/// ReaderMode::kPoll: polls until the trace has ended. False: it did not end within `timeout` or before the session's
/// end; its exit may have been lost. A negative timeout waits without a limit.
TRACER_EXPORT bool poll_until_ended(Session& session, const CommandTrace& trace, std::chrono::milliseconds timeout);

}  // namespace tracer
