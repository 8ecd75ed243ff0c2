// SPDX-License-Identifier: Apache-2.0
/// Who sent a signal, from the record to the event; and failures of tasks as they finish.
#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "collect.hpp"

using namespace tracer;
using collect::Stages;
using wire::Who;

namespace {

const Who kLeader = {.pid = 100, .start_ns = 1000, .context_id = 1, .comm = "bash"};

Who child(const Who& parent, std::uint32_t pid) {
  Who who = wire::child_of(parent, pid, pid * 10ull);
  who.context_id = 1;
  return who;
}

void start(Stages& stages, const Who& who) { stages.push(wire::start_record(who)); }

void execute(Stages& stages, const Who& who, const std::string& exe) {
  wire::Exec exec;
  exec.time_ns = who.start_ns + 1;
  exec.program_start_ns = who.start_ns;
  exec.exe = exe;
  exec.argv = {exe};
  stages.push(wire::exec_record(who, exec));
}

void end(Stages& stages, const Who& who, std::uint64_t at, std::uint32_t exit_code, std::uint32_t flags = 0,
         std::uint32_t sender = 0) {
  stages.push(wire::exit_record(who, {.time_ns = at,
                                      .program_start_ns = who.start_ns + 1,
                                      .exit_code = exit_code,
                                      .flags = flags,
                                      .signal_sender_pid = sender}));
}

/// A task whose leader runs a script.
void begin_task(Stages& stages) {
  stages.set_context(1, {.task = "t"});
  start(stages, kLeader);
  execute(stages, kLeader, "/bin/bash");
}

}  // namespace

TEST_CASE("who sent the signal is told as the kernel side says it, and else not") {
  struct Wanted {
    std::uint32_t flags;
    std::uint32_t pid;
    std::optional<std::string> sender;
    std::optional<std::uint32_t> sender_pid;
  };
  for (const Wanted& wanted : {Wanted{0, 0, {}, {}}, Wanted{TRACER_FLAG_SENT_BY_KERNEL, 0, "kernel", {}},
                               Wanted{TRACER_FLAG_SENT_BY_PROCESS, 55, "process", 55u},
                               Wanted{TRACER_FLAG_SENT_BY_PROCESS, 0, "process", {}}}) {
    Stages stages;
    start(stages, kLeader);
    stages.push(wire::exit_record(kLeader, {.time_ns = 3000,
                                            .program_start_ns = 1000,
                                            .exit_code = SIGTERM,
                                            .flags = wanted.flags,
                                            .signal_sender_pid = wanted.pid,
                                            .broken_pipe_ns = wanted.pid}));
    const auto exit = stages.last<ProcessExit>();
    CHECK(exit.exit_signal == SIGTERM);
    CHECK(exit.exit_signal_sender == wanted.sender);
    CHECK(exit.exit_signal_sender_pid == wanted.sender_pid);
    CHECK(exit.broken_pipe_ns.has_value() == (wanted.pid != 0));
  }
}

TEST_CASE("a task that ends with the status of a child has one failure, the child") {
  Stages stages;
  begin_task(stages);
  const Who tool = child(kLeader, 101);
  start(stages, tool);
  execute(stages, tool, "/usr/bin/samtools");
  end(stages, tool, 5000, 3 << 8);
  end(stages, kLeader, 6000, 3 << 8);
  const auto finish = stages.last<TaskFinish>();
  CHECK(finish.exit_code == 3);
  CHECK(finish.totals.failed == 1);
  REQUIRE(finish.totals.failures.size() == 1);
  CHECK(finish.totals.failures[0].pid == 101);
}

TEST_CASE("an answer that a task goes on after is no failure of it; one that ends it is") {
  for (const bool ends : {false, true}) {
    Stages stages;
    begin_task(stages);
    const Who tool = child(kLeader, 101);
    start(stages, tool);
    execute(stages, tool, "/bin/grep");
    end(stages, tool, 5000, 1 << 8);
    end(stages, kLeader, 6000, ends ? 1 << 8 : 0);
    const auto finish = stages.last<TaskFinish>();
    CHECK(finish.totals.failed == (ends ? 1 : 0));
    CHECK(finish.totals.failures.size() == finish.totals.failed);
  }
}

TEST_CASE("writers whose reader had enough, and workers that the leader ends, are no failures of a task") {
  Stages stages;
  begin_task(stages);
  const Who writer = child(kLeader, 101);
  const Who worker = child(kLeader, 102);
  for (const Who& who : {writer, worker}) {
    start(stages, who);
    execute(stages, who, "/usr/bin/tool");
  }
  end(stages, writer, 5000, SIGPIPE, TRACER_FLAG_SENT_BY_KERNEL);
  end(stages, worker, 5500, SIGTERM, TRACER_FLAG_SENT_BY_PROCESS, 100);
  end(stages, kLeader, 6000, 0);
  CHECK(stages.last<TaskFinish>().totals.processes == 3);
  CHECK(stages.last<TaskFinish>().totals.failed == 0);
}

TEST_CASE("a leader that is ended from above has failed, whoever did it") {
  Stages stages;
  begin_task(stages);
  end(stages, kLeader, 6000, SIGTERM, TRACER_FLAG_SENT_BY_PROCESS, 1);
  CHECK(stages.last<TaskFinish>().totals.failed == 1);
}
