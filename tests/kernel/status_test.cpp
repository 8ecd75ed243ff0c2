// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <concepts>
#include <map>
#include <type_traits>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "truth.hpp"

namespace {

/// What was reported is what the parent was told.
void check_status(const Capture& capture) {
  const auto exit = capture.exit();
  if (WIFSIGNALED(capture.status)) {
    CHECK(exit.exit_signal == WTERMSIG(capture.status));
    CHECK(!exit.exit_code.has_value());
    CHECK(exit.failed());
  } else {
    CHECK(exit.exit_code == WEXITSTATUS(capture.status));
    CHECK(!exit.exit_signal.has_value());
  }
}

/// The truth program `name`, called with each number.
std::vector<std::vector<std::string>> calls_of(const std::string& name, const std::vector<int>& numbers) {
  std::vector<std::vector<std::string>> calls;
  for (const int number : numbers) calls.push_back(truth::call(name, {std::to_string(number)}));
  return calls;
}

}  // namespace

TEST_CASE("each exit status is reported, and success as 0" * doctest::test_suite("waits native")) {
  const std::vector<int> statuses = {0, 1, 7, 127, 128, 255};
  const auto captures = trace_each(calls_of("exit", statuses));
  for (std::size_t n = 0; n < statuses.size(); ++n) {
    CHECK(captures[n].exit().exit_code == statuses[n]);
    check_status(captures[n]);
  }
}

TEST_CASE("a process killed by a signal has the signal and no status" * doctest::test_suite("waits native")) {
  const std::vector<int> numbers = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,
                                    SIGBUS,  SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2,
                                    SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGSYS,  SIGRTMIN + 3};
  const auto captures = trace_each(calls_of("die_by", numbers));
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    CAPTURE(numbers[n]);
    CHECK(captures[n].exit().exit_signal == numbers[n]);
    check_status(captures[n]);
  }
}

TEST_CASE("when the leader ends first, the status is the group's, once, with all threads' time" *
          doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("leader_first", {"3", "9"}));
  CHECK(capture.exit().exit_code == 9);
  CHECK(capture.exit().threads == 2);
  CHECK(capture.exit().account.cpu_ns.value_or(0) >= 5'000'000u);
  check_status(capture);
}

TEST_CASE("when every thread ends by itself, the status is what the parent is told" * doctest::test_suite("waits")) {
  check_status(trace(truth::call("plain_exits", {"3", "9"})));
  check_status(trace(truth::call("plain_exits", {"0", "0"})));
}

TEST_CASE("when a second thread executes, the process goes on: one exit, two execs, one pid" *
          doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("second_thread_execs", {"6"}));
  const auto execs = capture.all<tracer::ProcessExec>();
  CHECK(capture.exit().exit_code == 6);
  CHECK(capture.all<tracer::ProcessExit>().size() == 1);
  REQUIRE(execs.size() == 2);
  CHECK(execs[1].process->pid == static_cast<std::uint32_t>(capture.pid));
  CHECK(execs[1].process->start_ns == capture.exit().process->start_ns);
  // The time of the leader, which the exec ended, belongs to the first program.
  const auto& exit = capture.exit();
  CHECK(exit.account.cpu_ns.value_or(0) >= 30'000'000u);
  CHECK(exit.program.account.cpu_ns.value_or(0) < 25'000'000u);
}

TEST_CASE("a grandchild that was given away is still seen" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("double_fork", {"11"}));
  const auto others = capture.other_exits();
  REQUIRE(others.size() == 2);
  CHECK(std::set{others[0].exit_code.value_or(-1), others[1].exit_code.value_or(-1)} == std::set{0, 11});
}

TEST_CASE("500 forks without an exec are 500 processes, each with its own status" *
          doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("many_forks", {"500"}));
  std::map<int, int> statuses;
  for (const auto& each : capture.other_exits()) ++statuses[each.exit_code.value_or(-1)];
  CHECK(capture.other_exits().size() == 500);
  for (int status = 0; status < 256; ++status) CHECK(statuses[status] == (status < 244 ? 2 : 1));
  CHECK(capture.statistics.lost() == 0);
}

TEST_CASE("every process has one start, before its exec and its exit" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("many_spawns", {"100"}));
  std::map<std::uint32_t, std::vector<tracer::EventKind>> lives;
  for (const tracer::Event& event : capture.events)
    tracer::visit(
        [&](const auto& each) {
          using E = std::remove_cvref_t<decltype(each)>;
          if constexpr (requires { each.process; } && !std::same_as<E, tracer::ProcessSample>)
            lives[each.process->pid].push_back(each.kKind);
        },
        event);
  CHECK(lives.size() == 101);
  for (const auto& [pid, kinds] : lives) {
    REQUIRE(kinds.size() == 3);
    CHECK(kinds[0] == tracer::EventKind::kProcessStart);
    CHECK(kinds[1] == tracer::EventKind::kProcessExec);
    CHECK(kinds[2] == tracer::EventKind::kProcessExit);
  }
}

TEST_CASE("a thread that the kernel made for io_uring ends, and the process goes on" * doctest::test_suite("waits")) {
  for (const char* kind : {"plain", "polling"}) {
    CAPTURE(kind);
    const Capture ends = trace(truth::call("io_uring_worker", {kind, "exit"}));
    if (WIFEXITED(ends.status) && WEXITSTATUS(ends.status) == 90) {
      MESSAGE("SKIP: io_uring is not allowed here");
      return;
    }
    CHECK(ends.exit().exit_code == 5);
    CHECK(ends.exit().account.cpu_ns.value_or(0) >= 50'000'000u);
    CHECK(ends.exit().account.written_bytes == 1000u);
    check_status(ends);
    const Capture executes = trace(truth::call("io_uring_worker", {kind, "exec"}));
    CHECK(executes.exit().exit_code == 7);
    CHECK(executes.all<tracer::ProcessExec>().size() == 2);
    CHECK(executes.exit().account.cpu_ns.value_or(0) >= 50'000'000u);
    check_status(executes);
  }
}

TEST_CASE("who sent the signal that ended a process is told: the kernel, or a process by its pid" *
          doctest::test_suite("waits essential")) {
  struct Wanted {
    const char* how;
    int signal;
    bool by_kernel;
    bool by_itself;
  };
  const Wanted all[] = {{"fault", SIGSEGV, true, false},  {"pipe", SIGPIPE, true, false},
                        {"alarm", SIGALRM, true, false},  {"own", SIGTERM, false, true},
                        {"kill", SIGKILL, false, false},  {"thread", SIGTERM, false, false},
                        {"queue", SIGTERM, false, false}, {"handled_first", SIGTERM, false, false}};
  for (const Wanted& wanted : all) {
    CAPTURE(wanted.how);
    const Capture capture = trace(truth::call("end_child", {wanted.how}));
    const auto others = capture.other_exits();
    REQUIRE(others.size() == 1);
    const tracer::ProcessExit& child = others[0];
    std::istringstream output(capture.output);
    std::uint32_t parent_pid = 0;
    std::uint32_t child_pid = 0;
    output >> parent_pid >> child_pid;
    CHECK(child.process->pid == child_pid);
    CHECK(child.exit_signal == wanted.signal);
    CHECK(child.exit_signal_sender == (wanted.by_kernel ? "kernel" : "process"));
    CHECK(child.exit_signal_sender_pid.has_value() == !wanted.by_kernel);
    if (!wanted.by_kernel) CHECK(child.exit_signal_sender_pid == (wanted.by_itself ? child_pid : parent_pid));
    CHECK(child.broken_pipe_ns.has_value() == (wanted.signal == SIGPIPE));
    CHECK(!capture.exit().exit_signal_sender.has_value());
  }
}

TEST_CASE("a write that nobody reads is told, also where the signal is ignored" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("end_child", {"ignored_pipe"}));
  REQUIRE(capture.other_exits().size() == 1);
  const tracer::ProcessExit child = capture.other_exits()[0];
  CHECK(child.exit_code == 7);
  CHECK(!child.exit_signal_sender.has_value());
  REQUIRE(child.broken_pipe_ns.has_value());
  CHECK(*child.broken_pipe_ns > child.start_ns);
  CHECK(*child.broken_pipe_ns < child.end_ns);
  CHECK(!capture.exit().broken_pipe_ns.has_value());
}

TEST_CASE("a dumped core is told, as the parent is told" * doctest::test_suite("waits")) {
  const auto folder = std::filesystem::temp_directory_path() / ("tracer_core." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const Capture capture = trace(truth::call("dump_core", {folder.string()}));
  std::filesystem::remove_all(folder);
  CHECK(capture.exit().exit_signal == SIGABRT);
  CHECK(capture.exit().core_dumped == static_cast<bool>(WCOREDUMP(capture.status)));
}
