// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "collect.hpp"
#include "shell_records.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace tracer::shell_records;
using collect::Stages;
using wire::Who;

TEST_CASE("a child runs its parent's program until its own exec") {
  Stages stages;
  start_shell(stages);
  stages.push(wire::start_record(kChild));
  const auto start = stages.last<ProcessStart>();
  CHECK(start.time_ns == 2000);
  CHECK(start.process->pid == 101);
  CHECK(start.process->parent_pid == 100);
  CHECK(start.process->parent_start_ns == 1000);
  CHECK(start.process->program->exe == "/bin/bash");
  CHECK(start.process->program->argv == std::vector<std::string>{"/bin/bash", "-x"});
  CHECK(start.process->program->cwd == "/data");
  CHECK(start.process->program->comm == "bash");
  CHECK(start.process->pid_namespace == 11);
  CHECK(start.process->mount_namespace == 22);
  CHECK(start.process->program->tool == stages.all<ProcessExec>().front().process->program->tool);

  stages.push(wire::exec_record(kChild, {.time_ns = 2500, .program_start_ns = 2000}));
  const auto exec = stages.last<ProcessExec>();
  CHECK(exec.process->program->exe == "/usr/bin/samtools");
  CHECK(exec.process->program->tool == "samtools sort");
  CHECK(exec.ended.program->exe == "/bin/bash");
  CHECK(exec.ended.start_ns == 2000);
  CHECK(exec.ended.end_ns == 2500);
  CHECK(start.process->program->exe == "/bin/bash");
}

TEST_CASE("an exit carries the process's account and the last program's share") {
  Stages stages;
  stages.push(wire::start_record(kShell));
  wire::Exec exec = exec_of(1100, 1000, "/bin/a");
  exec.total = wire::counted(2);
  stages.push(wire::exec_record(kShell, exec));
  CHECK(stages.last<ProcessExec>().ended.account.cpu_ns == 200);
  stages.push(wire::exit_record(kShell, {.time_ns = 3000,
                                         .program_start_ns = 1100,
                                         .exit_code = 3 << 8,
                                         .threads = 2,
                                         .total = wire::counted(5),
                                         .read_before_exec_bytes = exec.total.read_bytes,
                                         .flags = TRACER_FLAG_EXECUTED}));
  const auto exit = stages.last<ProcessExit>();
  CHECK(exit.account.read_calls == exit.program.account.read_calls);
  CHECK(exit.account.read_calls == 36);
  CHECK(exit.start_ns == 1000);
  CHECK(exit.end_ns == 3000);
  CHECK(exit.exit_code == 3);
  CHECK(exit.failed());
  CHECK(exit.threads == 2);
  CHECK(exit.account.cpu_ns == 500);
  CHECK(exit.program.account.cpu_ns == 300);
  CHECK(exit.program.program->exe == "/bin/a");
  CHECK(exit.program.start_ns == 1100);
  CHECK(exit.program.end_ns == 3000);
}

TEST_CASE("a status by which a tool answers is no failure, another one is") {
  for (const auto& [exe, status, answers] :
       {std::tuple{"/usr/bin/grep", 1u, true}, {"/usr/bin/grep", 2u, false}, {"/usr/bin/sort", 1u, false}}) {
    CAPTURE(exe);
    CAPTURE(status);
    Stages stages;
    start_shell(stages);
    stages.push(wire::exec_record(kShell, exec_of(2000, 1000, exe)));
    stages.push(wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 2000, .exit_code = status << 8}));
    const auto exit = stages.last<ProcessExit>();
    CHECK(exit.exit_code == status);
    CHECK(exit.status_is_answer == answers);
    CHECK(exit.failed() == !answers);
  }
}

TEST_CASE("a pid that comes back with another start is another process") {
  Stages stages;
  start_shell(stages);
  stages.push(wire::start_record({.pid = 100, .start_ns = 9000, .comm = "new"}));
  const auto start = stages.last<ProcessStart>();
  CHECK(start.process->start_ns == 9000);
  CHECK_FALSE(start.process->program->exe.has_value());
  CHECK(start.process->program->comm == "new");
}

TEST_CASE("a parent is known by pid and start, not by the pid alone") {
  Stages stages;
  start_shell(stages);
  stages.push(wire::start_record({.pid = 101, .start_ns = 2000, .parent_pid = 100, .parent_start_ns = 1}));
  CHECK_FALSE(stages.last<ProcessStart>().process->program->exe.has_value());
  CHECK(stages.last<ProcessStart>().process->parent_pid == 100);
}

TEST_CASE("after a lost exec the program is unknown, the process's account is not") {
  Stages stages;
  start_shell(stages);
  stages.push(wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 2222, .total = wire::counted(5)}));
  const auto exit = stages.last<ProcessExit>();
  CHECK_FALSE(exit.process->program->exe.has_value());
  CHECK_FALSE(exit.process->program->argv.has_value());
  CHECK_FALSE(exit.process->program->tool.has_value());
  CHECK_FALSE(exit.program.program->exe.has_value());
  CHECK_FALSE(exit.program.program->tool.has_value());
  CHECK_FALSE(exit.program.account.cpu_ns.has_value());
  CHECK(exit.account.cpu_ns == 500);
  CHECK(exit.program.start_ns == 2222);
}

TEST_CASE("an exec after a lost one does not name the program it ended") {
  Stages stages;
  start_shell(stages);
  wire::Exec exec = exec_of(3000, 2222, "/bin/c");
  exec.total = wire::counted(4);
  stages.push(wire::exec_record(kShell, exec));
  const auto event = stages.last<ProcessExec>();
  CHECK_FALSE(event.ended.program->exe.has_value());
  CHECK_FALSE(event.ended.account.cpu_ns.has_value());
  CHECK(event.process->program->exe == "/bin/c");
  stages.push(wire::exit_record(kShell, {.time_ns = 4000, .program_start_ns = 3000, .total = wire::counted(5)}));
  CHECK(stages.last<ProcessExit>().program.account.cpu_ns == 100);
}

TEST_CASE("after threads that were still ending at an exec, the next program's end is not accounted either") {
  Stages stages;
  stages.push(wire::start_record(kShell));
  wire::Exec exec = exec_of(1100, 1000, "/bin/a");
  exec.flags |= TRACER_FLAG_THREADS_PENDING;
  stages.push(wire::exec_record(kShell, exec));
  stages.push(wire::exec_record(kShell, exec_of(1200, 1100, "/bin/b")));
  stages.push(wire::exec_record(kShell, exec_of(1300, 1200, "/bin/c")));
  const auto execs = stages.all<ProcessExec>();
  REQUIRE(execs.size() == 3);
  CHECK_FALSE(execs[0].ended.account.cpu_ns.has_value());
  CHECK_FALSE(execs[1].ended.account.cpu_ns.has_value());
  CHECK(execs[1].ended.program->exe == "/bin/a");
  CHECK(execs[2].ended.account.cpu_ns.has_value());
}

TEST_CASE("where the cpu time at an exec is stale, that of the programs before and after is unknown") {
  Stages stages;
  stages.push(wire::start_record(kShell));
  wire::Exec exec = exec_of(1100, 1000, "/bin/a");
  exec.flags |= TRACER_FLAG_CPU_STALE;
  exec.total = wire::counted(1);
  stages.push(wire::exec_record(kShell, exec));
  stages.push(wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 1100, .total = wire::counted(5)}));
  CHECK_FALSE(stages.last<ProcessExec>().ended.account.cpu_ns.has_value());
  CHECK(stages.last<ProcessExec>().ended.account.written_bytes == 11);
  CHECK_FALSE(stages.last<ProcessExit>().program.account.cpu_ns.has_value());
  CHECK(stages.last<ProcessExit>().program.account.written_bytes == 44);
  CHECK(stages.last<ProcessExit>().account.cpu_ns == 500);
}

TEST_CASE("a split is known of all threads together, even if one was too short for a tick") {
  Stages stages;
  tracer_wire_account idle{};
  idle.cpu_ns = 100;
  const auto samples = stages.sample({wire::thread_record(kShell, {.tid = 100, .own = wire::counted(1)}),
                                      wire::thread_record(kShell, {.tid = 101, .own = idle})});
  CHECK(samples.at(0).account.user_ns == 150);
  CHECK(samples.at(0).account.system_ns == 50);
}

TEST_CASE("a lost start is made up from the first record that came") {
  Stages stages;
  stages.push(wire::exec_record(kShell, exec_of(1100, 1000, "/bin/a")));
  REQUIRE(stages.events.size() == 2);
  CHECK(stages.all<ProcessStart>().front().time_ns == 1000);
  CHECK_FALSE(stages.all<ProcessStart>().front().process->program->exe.has_value());
  CHECK(stages.all<ProcessExec>().front().process->program->exe == "/bin/a");
}

TEST_CASE("the exit of an unknown process still has start, end and account") {
  Stages stages;
  stages.push(wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 1100, .total = wire::counted(5)}));
  CHECK(collect::kinds_of(stages.events) == std::vector{EventKind::kProcessStart, EventKind::kProcessExit});
  const auto exit = stages.last<ProcessExit>();
  CHECK(exit.start_ns == 1000);
  CHECK(exit.account.cpu_ns == 500);
  CHECK_FALSE(exit.program.account.cpu_ns.has_value());
}

TEST_CASE("a process is forgotten when it ends") {
  Stages stages;
  start_shell(stages);
  stages.push(wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 1100}));
  stages.push(wire::start_record(wire::child_of(kShell, 102, 4000)));
  CHECK_FALSE(stages.last<ProcessStart>().process->program->exe.has_value());
}

TEST_CASE("a start that comes twice is told once") {
  Stages stages;
  stages.push(wire::start_record(kShell));
  stages.push(wire::start_record(kShell));
  CHECK(stages.events.size() == 1);
}

TEST_CASE("labels go from parent to child, and a record's own context comes first") {
  Stages stages;
  Context align;
  align.pipeline = "wgs";
  align.step = "align";
  Context sort = align;
  sort.step = "sort";
  stages.set_context(1, align);
  stages.set_context(2, sort);
  Who shell = kShell;
  shell.context_id = 1;
  Who child = kChild;
  child.context_id = 1;
  Who other = wire::child_of(shell, 102, 2100);
  other.context_id = 2;
  for (const Who& who : {shell, child, other}) stages.push(wire::start_record(who));
  const auto starts = stages.all<ProcessStart>();
  REQUIRE(starts.size() == 3);
  CHECK(collect::said(*starts[0].process->context) == collect::labeled(align));
  CHECK(collect::said(*starts[1].process->context) == collect::labeled(align));
  CHECK(collect::said(*starts[2].process->context) == collect::labeled(sort));
  Who unknown = wire::child_of(shell, 103, 2200);
  unknown.context_id = 77;
  stages.push(wire::start_record(unknown));
  CHECK(collect::said(*stages.last<ProcessStart>().process->context) == collect::labeled(align));
}

TEST_CASE("secrets are masked before anything is told") {
  Stages stages;
  wire::Exec exec = exec_of(1100, 1000, "/usr/bin/mysql");
  exec.argv = {"mysql", "--password=hunter2", "-h", "db"};
  stages.push(wire::exec_record(kShell, exec));
  stages.push(wire::start_record(kChild));
  stages.push(wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 1100}));
  for (const Event& event : stages.events) CHECK(to_json(event).find("hunter2") == std::string::npos);
  CHECK(stages.correlator.secrets_masked() == 1);
}

TEST_CASE("secrets stay when the user wants them to") {
  Stages stages({}, false, 1000, false);
  wire::Exec exec = exec_of(1100, 1000, "/usr/bin/mysql");
  exec.argv = {"mysql", "--password=hunter2"};
  stages.push(wire::exec_record(kShell, exec));
  CHECK(stages.last<ProcessExec>().process->program->argv->back() == "--password=hunter2");
  CHECK(stages.correlator.secrets_masked() == 0);
}

TEST_CASE("the words of a process that lived before come from its text record, masked") {
  Stages stages;
  TextRecord text{.pid = kShell.pid, .start_ns = kShell.start_ns, .text = {}, .cgroup = "/s"};
  text.text.exe = "/usr/bin/mysql";
  text.text.argv = {"mysql", "--password=hunter2"};
  stages.push(text);
  stages.push(wire::start_record(kShell, TRACER_FLAG_ADOPTED_LIFE, 9000));
  const auto start = stages.last<ProcessStart>();
  CHECK(start.attached_ns == 9000);
  CHECK(start.process->program->exe == "/usr/bin/mysql");
  CHECK_FALSE(start.process->program->cwd.has_value());
  CHECK(start.process->cgroup->path == "/s");
  CHECK(to_json(start).find("hunter2") == std::string::npos);
}

TEST_CASE("a text record of an earlier process with the same pid is not used") {
  Stages stages;
  TextRecord earlier{.pid = kShell.pid, .start_ns = 5, .text = {}, .cgroup = {}};
  earlier.text.exe = "/bin/old";
  stages.push(earlier);
  stages.push(wire::start_record(kShell));
  CHECK_FALSE(stages.last<ProcessStart>().process->program->exe.has_value());
}

TEST_CASE("a record with another context id than before relabels its process, and what it begins from then on") {
  Stages stages;
  Context before;
  before.step = "before";
  Context after;
  after.step = "after";
  stages.set_context(1, before);
  stages.set_context(2, after);
  Who shell = kShell;
  shell.context_id = 1;
  stages.push(wire::start_record(shell));
  CHECK(collect::said(*stages.last<ProcessStart>().process->context) == collect::labeled(before));
  shell.context_id = 2;
  stages.push(wire::thread_record(shell, {.tid = 100}));
  Who child = kChild;
  child.context_id = 2;
  stages.push(wire::start_record(child));
  CHECK(collect::said(*stages.last<ProcessStart>().process->context) == collect::labeled(after));
  stages.push(wire::exit_record(shell, {.time_ns = 9000, .program_start_ns = shell.start_ns}));
  CHECK(collect::said(*stages.last<ProcessExit>().process->context) == collect::labeled(after));
}

TEST_CASE("a child shares its parent's program until it executes; an exec changes the program alone") {
  Stages stages;
  stages.push(wire::start_record(kShell));
  stages.push(wire::exec_record(kShell, {.time_ns = 1500, .program_start_ns = kShell.start_ns}));
  stages.push(wire::start_record(kChild));
  const auto shell = stages.last<ProcessExec>().process;
  const auto child = stages.last<ProcessStart>().process;
  CHECK(child->program == shell->program);
  CHECK(child->cgroup == shell->cgroup);
  CHECK(child->context == shell->context);
  stages.push(wire::exec_record(kChild, {.time_ns = 2500, .program_start_ns = kChild.start_ns}));
  const ProcessExec exec = stages.last<ProcessExec>();
  CHECK(exec.process->program != shell->program);
  CHECK(exec.ended.program == shell->program);
  CHECK(exec.process->cgroup == shell->cgroup);
  CHECK(exec.process->context == shell->context);
}

TEST_CASE("programs with the same words are one object, whoever executes them; one with a masked secret is not kept") {
  Stages stages;
  const auto run = [&](std::uint32_t pid, std::vector<std::string> argv) {
    const Who who{.pid = pid, .start_ns = pid};
    stages.push(wire::start_record(who));
    stages.push(wire::exec_record(who, {.time_ns = pid + 1, .program_start_ns = pid, .argv = std::move(argv)}));
    return stages.last<ProcessExec>().process->program;
  };
  CHECK(run(10, {"samtools", "sort", "a.bam"}) == run(20, {"samtools", "sort", "a.bam"}));
  CHECK(run(30, {"samtools", "sort", "a.bam"}) != run(40, {"samtools", "sort", "b.bam"}));
  CHECK(run(50, {"mysql", "--password=hunter2"}) != run(60, {"mysql", "--password=hunter2"}));
  CHECK(stages.correlator.secrets_masked() == 2);
}
