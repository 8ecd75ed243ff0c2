// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/ended_commands.hpp"
#include "base/held_commands.hpp"
#include "base/proc_stat.hpp"
#include "base/reached.hpp"
#include "base/unique_fd.hpp"
#include "run/reap.hpp"
#include "run/refuse_start.hpp"
#include "run/typing_filter.hpp"
#include "run/user.hpp"

extern char** environ;

namespace tracer {

using internal::UniqueFd;

namespace {

enum class Failed : int { kUser, kExec };
struct Report {
  Failed what;
  int error_number;
};

/// Pointers to texts that outlive it, with a null at the end.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// What names places of the caller, which another user must not take for his own.
constexpr std::string_view kOfUser[] = {"HOME=",
                                        "SHELL=",
                                        "MAIL=",
                                        "DBUS_SESSION_BUS_ADDRESS=",
                                        "XDG_RUNTIME_DIR=",
                                        "XDG_CONFIG_HOME=",
                                        "XDG_CACHE_HOME=",
                                        "XDG_DATA_HOME=",
                                        "XDG_STATE_HOME="};

/// The environment of the command, with the names of the user to run as.
std::vector<std::string> environment_of(const CommandOptions& options) {
  const std::optional<User>& user = options.user;
  std::vector<std::string> own;
  if (user) {
    own = {"USER=" + user->name, "LOGNAME=" + user->name};
    if (user->home) own.push_back("HOME=" + *user->home);
  }
  const bool changes = user && user->uid != ::geteuid();
  std::vector<std::string> all;
  const auto add = [&](std::string_view entry) {
    bool replaced = false;
    for (const std::string& each : own) replaced = replaced || entry.starts_with(each.substr(0, each.find('=') + 1));
    for (const std::string_view name : kOfUser) replaced = replaced || (changes && entry.starts_with(name));
    if (!replaced) all.emplace_back(entry);
  };
  if (options.environment) {
    for (const std::string& entry : *options.environment) add(entry);
  } else {
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) add(*at);
  }
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

/// The paths to try, in this order, as execvp does; that may allocate, which a process between fork and exec must not.
std::vector<std::string> candidates_for(const std::string& name, const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos || name.empty()) return {name};
  static constexpr std::string_view kVariable = "PATH=";
  const auto path = std::find_if(environment.begin(), environment.end(),
                                 [](const std::string& entry) { return entry.starts_with(kVariable); });
  std::vector<std::string> candidates;
  for (std::string_view rest = path == environment.end() ? std::string_view("/bin:/usr/bin")
                                                         : std::string_view(*path).substr(kVariable.size());
       ;) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    candidates.push_back(folder.empty() ? name : fmt::format("{}/{}", folder, name));
    if (end == std::string_view::npos) return candidates;
    rest.remove_prefix(end + 1);
  }
}

/// All that the new process needs; made before the fork.
struct Plan {
  explicit Plan(const CommandOptions& options)
      : user(options.user),
        may_type(!options.user || options.user->uid == ::geteuid() || options.owns_terminal),
        prepare(options.prepare),
        environment(environment_of(options)),
        candidates(candidates_for(options.argv.front(), environment)),
        argv(pointers_to(options.argv)),
        envp(pointers_to(environment)),
        paths(pointers_to(candidates)) {
    // A script without "#!" is one for the shell, as for execvp; its path is set in when it is known.
    script = {const_cast<char*>("/bin/sh"), nullptr};
    script.insert(script.end(), argv.begin() + 1, argv.end());
  }

  const std::optional<User>& user;
  bool may_type;
  const std::function<void()>& prepare;
  std::vector<std::string> environment;
  std::vector<std::string> candidates;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<char*> paths;
  std::vector<char*> script;
};

/// Returns if none can be executed; errno says why.
void execute(Plan& plan) noexcept {
  bool refused = false;
  for (char* path : plan.paths) {
    if (path == nullptr) break;
    ::execve(path, plan.argv.data(), plan.envp.data());
    if (errno == ENOEXEC) {
      plan.script[1] = path;
      ::execve(plan.script.front(), plan.script.data(), plan.envp.data());
      return;
    }
    if (errno == EACCES) refused = true;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != ESTALE && errno != ENODEV) return;
  }
  if (refused) errno = EACCES;
}

int exit_status_of(int error_number) noexcept { return error_number == ENOENT ? 127 : 126; }

ssize_t receive(int channel, void* data, std::size_t size) noexcept {
  ssize_t got = 0;
  do {
    got = ::recv(channel, data, size, 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

[[noreturn]] void send_failure(Failed what, int error_number, int channel) noexcept {
  const Report failure{what, error_number};
  ::send(channel, &failure, sizeof failure, MSG_NOSIGNAL);
  ::_exit(exit_status_of(error_number));
}

/// What exec would close anyway is closed before that: as a file's last close it would count as the command's use of
/// it.
void close_callers_files(int channel) noexcept {
  constexpr int kMostLooked = 1024;
  for (int fd = STDERR_FILENO + 1; fd < kMostLooked; ++fd)
    if (const int flags = fd == channel ? -1 : ::fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) != 0)
      ::close(fd);
}

/// In the new process: only what is async-signal-safe.
[[noreturn]] void run_child(Plan& plan, int channel) noexcept {
  char go = 0;
  if (receive(channel, &go, sizeof go) != sizeof go) ::_exit(125);
  Failed failed = Failed::kUser;
  if ((plan.may_type || internal::refuse_typing()) && (!plan.user || internal::become(*plan.user))) {
    failed = Failed::kExec;
    internal::drop_inherited_capabilities();
    if (plan.prepare) plan.prepare();
    close_callers_files(channel);
    execute(plan);
  }
  send_failure(failed, errno, channel);
}

/// What exec would do with them.
void forget_handlers() noexcept {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
      ::signal(number, SIG_DFL);
  }
}

/// The new process works in the caller's memory, while the thread that calls waits: no handler of the caller's may run
/// in it. What makes it a fork (emulators and sanitizers do) changes nothing: what fails is sent.
pid_t start_at_once(Plan& plan, int channel) noexcept {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) {
    forget_handlers();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    internal::drop_inherited_capabilities();
    if (plan.prepare) plan.prepare();
    execute(plan);
    send_failure(Failed::kExec, errno, channel);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

/// Whether what was forked has executed a program since, or has ended.
bool has_left(pid_t child) {
  siginfo_t end{};
  if (::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == child)
    return true;
  const auto stat = internal::read_proc_stat(child);
  return stat && (stat->flags & internal::kForkedOnly) == 0;
}

/// What has failed; absent: it executes. An exec closes its end of the channel, but other children that were forked
/// meanwhile may hold that open.
std::optional<Report> report_of(pid_t child, int channel) {
  internal::Pause pause;
  for (bool last = false;; last = has_left(child)) {
    pollfd ready{channel, POLLIN, 0};
    const int found = ::poll(&ready, 1, last ? 0 : static_cast<int>(pause.next().count()));
    if (found == 0 && last) return std::nullopt;
    if (found <= 0) continue;
    Report failure{};
    return receive(channel, &failure, sizeof failure) == sizeof failure ? std::optional(failure) : std::nullopt;
  }
}

}  // namespace

Command::Command(CommandOptions options) {
  if (options.argv.empty())
    throw Error({ErrorCode::kInvalidArgument, 0, "the command to run is missing", "give at least one word", {}});
  name_ = options.argv.front();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error({ErrorCode::kInternal, errno, "can't make a socket", {}, {}});
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  Plan plan(options);
  if (options.at_once && !options.user) {
    pid_ = start_at_once(plan, theirs.get());
    if (pid_ < 0) throw Error({ErrorCode::kInternal, errno, "can't fork", {}, {}});
    theirs.reset();
    const std::optional<Report> failure = report_of(pid_, ours.get());
    if (!failure) return;
    start_error_ = failure->error_number;
    internal::reap(pid_);
    reaped_ = true;
    return;
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ours.get());
    run_child(plan, theirs.get());
  }
  if (pid_ < 0) throw Error({ErrorCode::kInternal, errno, "can't fork", {}, {}});
  internal::note_held_command(pid_);
  channel_ = ours.release();
}

Command::~Command() {
  if (channel_ < 0) return;
  internal::forget_held_command(pid_);
  // Other children that were forked meanwhile may hold the descriptor, too.
  ::shutdown(channel_, SHUT_RDWR);
  ::close(channel_);
  if (!reaped_) internal::reap(pid_);
}

void Command::release() {
  if (start_error_ != 0) internal::refuse_start(name_, std::exchange(start_error_, 0));
  if (channel_ < 0) return;
  internal::forget_held_command(pid_);
  const UniqueFd channel(std::exchange(channel_, -1));
  const char go = 1;
  ::send(channel.get(), &go, sizeof go, MSG_NOSIGNAL);
  const std::optional<Report> failure = report_of(pid_, channel.get());
  if (!failure) return;
  internal::reap(pid_);
  reaped_ = true;
  const int error_number = failure->error_number;
  if (failure->what == Failed::kUser)
    throw Error({ErrorCode::kPermission, error_number, "can't become the user to run as", {}, {}});
  internal::refuse_start(name_, error_number);
}

std::optional<CommandEnd> Command::ended() noexcept {
  if (reaped_) return std::nullopt;
  internal::keep_last_look(pid_);
  CommandEnd end{0};
  const pid_t found = ::waitpid(pid_, &*end.wait_status, WNOHANG);
  if (found == 0) return std::nullopt;
  reaped_ = true;
  if (found < 0) end.wait_status.reset();
  return end;
}

int Command::signal(int number) const noexcept {
  siginfo_t unused{};
  // Its pid may be another's once somebody has waited for it.
  if (reaped_ || ::waitid(P_PID, static_cast<id_t>(pid_), &unused, WEXITED | WNOHANG | WNOWAIT) != 0) return ESRCH;
  return ::kill(pid_, number) == 0 ? 0 : errno;
}

}  // namespace tracer
