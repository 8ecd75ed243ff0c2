// SPDX-License-Identifier: Apache-2.0
/// Commands in a process that has other children, handlers of signals, and others who wait for children.
#include <tracer/run.hpp>

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/session.hpp>
#include <tracer/source.hpp>

#include "collect.hpp"
#include "run/reap.hpp"

using namespace tracer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

namespace {

/// While it lives a signal has this handler, which interrupts system calls.
class Handler {
 public:
  Handler(int number, void (*handler)(int)) : number_(number) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigaction(number, &action, &before_);
  }
  ~Handler() { ::sigaction(number_, &before_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int number_;
  struct sigaction before_ {};
};

/// A process that is interrupted all the time.
class Interrupted {
 public:
  Interrupted() { set(700); }
  ~Interrupted() { set(0); }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

 private:
  static void set(suseconds_t period_us) {
    const itimerval times{{0, period_us}, {0, period_us}};
    ::setitimer(ITIMER_REAL, &times, nullptr);
  }
  Handler handler_{SIGALRM, [](int) {}};
};

/// Holds what it has inherited, and executes nothing: as one that the caller's process forks at the wrong moment.
class Stranger {
 public:
  Stranger() { REQUIRE(::pipe(pid_) == 0); }
  ~Stranger() {
    pid_t pid = 0;
    CHECK(::read(pid_[0], &pid, sizeof pid) == sizeof pid);
    if (pid > 0) ::kill(pid, SIGKILL);
    for (const int fd : pid_) ::close(fd);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  /// In the command's process.
  void fork() const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::sleep(20);
      ::_exit(0);
    }
    if (::write(pid_[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
  }

 private:
  int pid_[2] = {-1, -1};
};

void reap_all(int) {
  const int error_number = errno;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
  errno = error_number;
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

std::optional<CommandEnd> end_of(Command& command) {
  const auto until = Clock::now() + seconds(10);
  while (Clock::now() < until)
    if (auto end = command.ended()) return end;
  return std::nullopt;
}

CommandOptions calling(std::vector<std::string> argv) {
  CommandOptions options;
  options.argv = std::move(argv);
  return options;
}

}  // namespace

TEST_CASE("a release waits for nobody who has only inherited the command's channel") {
  const Stranger stranger;
  CommandOptions options = calling({"true"});
  options.prepare = [&stranger] { stranger.fork(); };
  Command command(options);
  const auto begin = Clock::now();
  command.release();
  CHECK(Clock::now() - begin < seconds(5));
  CHECK(end_of(command)->wait_status == 0);
}

TEST_CASE("what fails late is reported, though somebody else holds the command's channel") {
  const Stranger stranger;
  CommandOptions options = calling({"/no/such/program"});
  options.prepare = [&stranger] {
    stranger.fork();
    ::usleep(100'000);
  };
  Command command(options);
  CHECK_THROWS_AS(command.release(), Error);
}

TEST_CASE("users are found while signals interrupt everything") {
  const User user = find_user("daemon");
  const Interrupted interrupted;
  for (int n = 0; n < 20; ++n) {
    const User again = find_user("daemon");
    CHECK(again.uid == user.uid);
    CHECK(again.gid == user.gid);
    CHECK(again.groups == user.groups);
    CHECK(again.name == user.name);
  }
}

TEST_CASE("users are found where others reap all children") {
  const User user = find_user("daemon");
  const Handler reaper(SIGCHLD, reap_all);
  for (int n = 0; n < 20; ++n) {
    const User again = find_user("daemon");
    CHECK(again.uid == user.uid);
    CHECK(again.gid == user.gid);
    CHECK(again.groups == user.groups);
  }
  CHECK_THROWS_AS(find_user("no-such-user"), Error);
  CHECK(find_user("54321").gid == 65534);
}

TEST_CASE("a child is reaped whatever signals come, and only once") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::usleep(50'000);
    ::_exit(3);
  }
  const Interrupted interrupted;
  const auto status = internal::reap(child);
  REQUIRE(status);
  CHECK(WEXITSTATUS(*status) == 3);
  CHECK_FALSE(internal::reap(child));
}

TEST_CASE("no process is left of commands that fail or are not released, whatever signals come") {
  CommandOptions at_once = calling({"/no/such/program"});
  at_once.at_once = true;
  for (int n = 0; n < 20; ++n) {
    Command failing(calling({"/no/such/program"}));
    auto unreleased = std::make_unique<Command>(calling({"true"}));
    const Interrupted interrupted;
    CHECK_THROWS_AS(failing.release(), Error);
    const Command unreported(at_once);
    unreleased.reset();
  }
  CHECK_FALSE(has_children());
}

TEST_CASE("a command that somebody else has reaped has ended, without a status, and gets no signal") {
  Command command(calling({"sleep", "60"}));
  command.release();
  CHECK(command.signal(0) == 0);
  CHECK(command.signal(9999) == EINVAL);
  CHECK(command.signal(SIGKILL) == 0);
  REQUIRE(::waitpid(command.pid(), nullptr, 0) == command.pid());
  CHECK(command.signal(0) == ESRCH);
  const auto end = end_of(command);
  REQUIRE(end);
  CHECK_FALSE(end->wait_status);
  CHECK_FALSE(command.ended());
}

TEST_CASE("a command that was reaped gets no signal") {
  Command command(calling({"true"}));
  command.release();
  CHECK(end_of(command)->wait_status == 0);
  CHECK(command.signal(SIGKILL) == ESRCH);
}

TEST_CASE("polling for the end of a trace ends with the session") {
  collect::Polled run;
  const CommandTrace trace(1234);
  CHECK_FALSE(poll_until_ended(*run.session, trace, milliseconds(1)));
  run.session->request_stop();
  CHECK_FALSE(poll_until_ended(*run.session, trace, milliseconds(-1)));
  CHECK(run.session->finished());
}

TEST_CASE("polling for the end of a trace has no limit but the end where none is given") {
  collect::Polled run;
  CommandTrace trace(7);
  const Subscription all = run.session->on_any([&](const Event& event) { trace.saw(event); });
  collect::push_life(*run.source, 7);
  CHECK(poll_until_ended(*run.session, trace, milliseconds(-1)));
}
