// SPDX-License-Identifier: Apache-2.0
#include "base/held_commands.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "collect.hpp"
#include "shell_records.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace tracer::shell_records;
using collect::Stages;

namespace {

/// As tracer::Command does it.
class Held {
 public:
  Held() { note_held_command(static_cast<pid_t>(kShell.pid)); }
  ~Held() { forget_held_command(static_cast<pid_t>(kShell.pid)); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

wire::Bytes taken_in() {
  return wire::thread_record(kShell, {.tid = 100, .own = wire::counted(1), .attached_ns = 4000, .newly_adopted = 1});
}

}  // namespace

TEST_CASE("nothing is told of a command while it is held") {
  const Held held;
  Stages stages;
  stages.push(taken_in());
  CHECK(stages.events.empty());
  CHECK(stages.sample({taken_in()}).empty());
}

TEST_CASE("it begins with its exec, and what the copy of its caller has consumed is nobody's") {
  const Held held;
  Stages stages;
  stages.push(taken_in());
  wire::Exec exec = exec_of(5000, 1000, "/bin/a");
  exec.total = wire::counted(2);
  stages.push(wire::exec_record(kShell, exec));
  const auto start = stages.last<ProcessStart>();
  CHECK(start.time_ns == 5000);
  CHECK(start.attached_ns == 5000);
  CHECK(start.process->program->exe == "/bin/a");
  const auto begun = stages.last<ProcessExec>();
  CHECK(begun.process->program->exe == "/bin/a");
  CHECK_FALSE(begun.ended.start_ns.has_value());
  CHECK_FALSE(begun.ended.end_ns.has_value());
  CHECK_FALSE(begun.ended.account.cpu_ns.has_value());

  stages.push(wire::exit_record(
      kShell, {.time_ns = 9000, .program_start_ns = 5000, .total = wire::counted(5), .flags = TRACER_FLAG_EXECUTED}));
  const auto exit = stages.last<ProcessExit>();
  CHECK(exit.start_ns == 1000);
  CHECK(exit.begin_ns == 5000);
  CHECK(exit.attached_ns == 5000);
  CHECK(exit.account.cpu_ns == 300);
  CHECK(exit.account.written_bytes == 33);
  CHECK(exit.program.account.cpu_ns == 300);
}

TEST_CASE("one that ends without a command is told of as it is") {
  const Held held;
  Stages stages;
  stages.push(taken_in());
  stages.push(wire::exit_record(kShell, {.time_ns = 9000, .program_start_ns = 1000, .total = wire::counted(5)}));
  CHECK(stages.all<ProcessStart>().size() == 1);
  CHECK(stages.last<ProcessExit>().account.cpu_ns == 500);
  CHECK(stages.last<ProcessExit>().begin_ns == 1000);
}

TEST_CASE("what was forgotten is held no more") {
  { const Held held; }
  Stages stages;
  stages.push(taken_in());
  CHECK(stages.all<ProcessStart>().size() == 1);
}

TEST_CASE("a command whose fork was told before anybody named it begins with its exec, too") {
  Stages stages;
  stages.push(wire::start_record(kShell));
  CHECK(stages.all<ProcessStart>().size() == 1);
  stages.correlator.add_command(kShell.pid, {.held = true});
  wire::Exec exec = exec_of(5000, 1000, "/bin/a");
  exec.total = wire::counted(2);
  stages.push(wire::exec_record(kShell, exec));
  CHECK(stages.all<ProcessStart>().size() == 1);
  CHECK_FALSE(stages.last<ProcessExec>().ended.start_ns.has_value());
  stages.push(wire::exit_record(
      kShell, {.time_ns = 9000, .program_start_ns = 5000, .total = wire::counted(5), .flags = TRACER_FLAG_EXECUTED}));
  CHECK(stages.last<ProcessExit>().begin_ns == 5000);
  CHECK(stages.last<ProcessExit>().account.cpu_ns == 300);

  // What has executed something is no copy any more.
  Stages later;
  later.push(wire::start_record(kShell));
  later.push(wire::exec_record(kShell, exec));
  later.correlator.add_command(kShell.pid, {.held = true});
  wire::Exec second = exec_of(6000, 5000, "/bin/b");
  second.total = wire::counted(3);
  later.push(wire::exec_record(kShell, second));
  CHECK(later.last<ProcessExec>().ended.start_ns == 5000);
}
