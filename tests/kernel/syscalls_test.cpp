// SPDX-License-Identifier: Apache-2.0
/// The family syscalls, against programs that make known numbers of calls.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "has_family.hpp"
#include "held.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kCallMillisecond = 1'000'000;

tracer::SessionOptions with_syscalls() {
  tracer::SessionOptions options;
  options.families = tracer::default_families();
  options.families.push_back(tracer::Family::kSyscalls);
  return options;
}

Capture trace_calls(const std::string& how) {
  Capture capture = trace(truth::call("make_calls", {how}), with_syscalls());
  CHECK(capture.status == 0);
  CHECK_FALSE(capture.statistics.losses.contains("syscall_table_full"));
  CHECK_FALSE(capture.statistics.losses.contains("ring_full_syscall_use"));
  return capture;
}

/// Absent: the process has made none.
std::optional<tracer::SyscallUse> use_by(const std::vector<tracer::SyscallUse>& uses, pid_t pid, long number) {
  std::optional<tracer::SyscallUse> found;
  for (const auto& each : uses) {
    if (each.process->pid != static_cast<std::uint32_t>(pid) || each.number != static_cast<std::uint32_t>(number))
      continue;
    REQUIRE_MESSAGE(!found, "a call was reported twice");
    found = each;
  }
  return found;
}

tracer::SyscallUse use_of(const Capture& capture, long number) {
  const auto found = use_by(capture.all<tracer::SyscallUse>(), capture.pid, number);
  CAPTURE(number);
  REQUIRE(found.has_value());
  return *found;
}

}  // namespace

TEST_CASE("syscalls are counted, with failures, the last errno and their time" * doctest::test_suite("essential")) {
  const Capture capture = trace_calls("plain");
  if (!has_family(capture, "syscalls")) return;
  const tracer::SyscallUse parents = use_of(capture, SYS_getppid);
  CHECK(parents.calls == 1000);
  CHECK(parents.failed == 0);
  CHECK_FALSE(parents.error.has_value());
  CHECK(parents.name == "getppid");
  CHECK(parents.duration_ns > 0);
  CHECK(parents.duration_ns < capture.exit().account.cpu_ns.value() + 1000 * kCallMillisecond);
  const tracer::SyscallUse opens = use_of(capture, SYS_openat);
  CHECK(opens.name == "openat");
  CHECK(opens.failed == 500);
  CHECK(opens.calls >= 500);
  CHECK(opens.error == ENOENT);
  const tracer::SyscallUse sleeps = use_of(capture, SYS_nanosleep);
  CHECK(sleeps.calls == 100);
  CHECK(sleeps.failed == 0);
  CHECK(sleeps.duration_ns >= 100 * kCallMillisecond);
  CHECK(sleeps.duration_ns <= capture.exit().time_ns - capture.exit().process->start_ns);
  const tracer::SyscallUse copies = use_of(capture, SYS_dup);
  CHECK(copies.calls == 2);
  CHECK(copies.failed == 1);
  CHECK(copies.error == EBADF);
  // The exec that began the program, in a process that was followed before; the ends are no calls that returned.
  CHECK(use_of(capture, SYS_execve).calls == 1);
  CHECK_FALSE(use_by(capture.all<tracer::SyscallUse>(), capture.pid, SYS_exit_group).has_value());
}

TEST_CASE("syscalls of all threads of a process are summed, and none is lost between them") {
  const Capture capture = trace_calls("threads");
  if (!has_family(capture, "syscalls")) return;
  const std::uint64_t calls = use_of(capture, SYS_getppid).calls;
  CHECK(calls <= 10'000);
  // Where the kernel skips a program that it has preempted, it counts that: nothing is lost unsaid.
  const auto skipped = capture.statistics.losses.find("kernel_recursion");
  CHECK(calls + (skipped == capture.statistics.losses.end() ? 0 : skipped->second) >= 10'000);
  CHECK_FALSE(use_by(capture.all<tracer::SyscallUse>(), capture.pid, SYS_exit).has_value());
}

TEST_CASE("a syscall that a signal interrupts is counted once, by what the program sees of it") {
  for (const std::string how : {"restarted", "interrupted"}) {
    CAPTURE(how);
    const Capture capture = trace_calls(how);
    if (!has_family(capture, "syscalls")) return;
    const tracer::SyscallUse read = use_of(capture, SYS_readv);
    CHECK(read.calls == 1);
    CHECK(read.failed == (how == "interrupted" ? 1u : 0u));
    CHECK(read.error == (how == "interrupted" ? std::optional<std::int32_t>(EINTR) : std::nullopt));
    // The signal comes 50 ms after the call began, if not later than the answer.
    CHECK(read.duration_ns >= 40 * kCallMillisecond);
    CHECK_FALSE(use_by(capture.all<tracer::SyscallUse>(), capture.pid, SYS_rt_sigreturn).has_value());
  }
}

TEST_CASE("a syscall that goes on after a stop is one, with all its time") {
  const Capture capture = trace_calls("stopped");
  if (!has_family(capture, "syscalls")) return;
  const tracer::SyscallUse sleep = use_of(capture, SYS_nanosleep);
  CHECK(sleep.calls == 1);
  CHECK(sleep.failed == 0);
  CHECK(sleep.duration_ns >= 150 * kCallMillisecond);
  CHECK_FALSE(use_by(capture.all<tracer::SyscallUse>(), capture.pid, SYS_restart_syscall).has_value());
}

TEST_CASE("the syscall with which another thread than the first executes a program is counted") {
  const Capture capture = trace_calls("executed");
  if (!has_family(capture, "syscalls")) return;
  CHECK(use_of(capture, SYS_execve).calls == 2);
  CHECK(use_of(capture, SYS_getppid).calls == 7);
}

TEST_CASE("syscalls before a process is followed, and of others, are not counted; what lives on is reported") {
  const Held followed = hold(truth::call("call_when_told"));
  const Held other = hold(truth::call("call_when_told"));
  std::vector<tracer::SyscallUse> uses;
  tracer::SessionOptions options = with_syscalls();
  options.filter.include_tree(followed.pid);
  tracer::Session session(std::move(options));
  const auto subscription = session.on<tracer::SyscallUse>([&](const auto& event) { uses.push_back(event); });
  session.start();
  for (const Held& each : {followed, other}) {
    REQUIRE(::write(each.in, "g", 1) == 1);
    char line[2];
    REQUIRE(::read(each.out, line, sizeof line) == 2);
  }
  bool active = false;
  for (const tracer::FamilyState& state : session.families())
    active = active || (state.family == tracer::Family::kSyscalls && state.active);
  session.stop();
  release(followed);
  release(other);
  if (!active) {
    MESSAGE("SKIP: no family syscalls on this kernel");
    return;
  }
  const auto parents = use_by(uses, followed.pid, SYS_getppid);
  REQUIRE(parents.has_value());
  CHECK(parents->calls == 100);
  // It was in the first of its reads when it was taken in, and is in the second: neither was seen whole.
  CHECK_FALSE(use_by(uses, followed.pid, SYS_read).has_value());
  for (const auto& each : uses) CHECK(each.process->pid == static_cast<std::uint32_t>(followed.pid));
}

TEST_CASE("no syscalls are counted unless they are asked for") {
  const Capture capture = trace(truth::call("make_calls", {"few"}));
  CHECK(capture.all<tracer::SyscallUse>().empty());
}
