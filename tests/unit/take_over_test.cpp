// SPDX-License-Identifier: Apache-2.0
/// Processes that an earlier process of the service followed.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "collect.hpp"
#include "shell_records.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace tracer::shell_records;
using collect::Stages;

namespace {

/// A shell that executed bash at 1100, at a restart at 5000.
void take_over_shell(Stages& stages) {
  const auto process = build::process({.pid = kShell.pid,
                                       .start_ns = kShell.start_ns,
                                       .exe = "/bin/bash",
                                       .argv = std::vector<std::string>{"bash", "-x"}});
  stages.correlator.take_over({{process, 0, 1100, 5000}}, stages.events);
  stages.events.clear();
}

}  // namespace

TEST_CASE(
    "a process that is taken over keeps its words and its sums, and nothing is told of its program or its waits") {
  // As the kernel side says that was kept, and as one says that took it in anew.
  for (const std::uint64_t program_start_ns : {1100u, 1000u}) {
    CAPTURE(program_start_ns);
    Stages stages;
    take_over_shell(stages);
    stages.push(
        wire::exit_record(kShell, {.time_ns = 9000, .program_start_ns = program_start_ns, .total = wire::counted(3)}));
    const auto exit = stages.last<ProcessExit>();
    CHECK(collect::kinds_of(stages.events) == std::vector{EventKind::kProcessExit});
    CHECK(exit.process->program->exe == "/bin/bash");
    CHECK(exit.attached_ns == 5000);
    CHECK(exit.account.cpu_ns == 300);
    CHECK_FALSE(exit.account.ledger);
    CHECK_FALSE(exit.account.process_ledger);
    CHECK_FALSE(exit.program.account.cpu_ns);
  }
}

TEST_CASE("a process that ended before it was taken over was attached no later than it ended") {
  Stages stages;
  take_over_shell(stages);
  stages.push(wire::exit_record(kShell, {.time_ns = 4000, .program_start_ns = 1100}));
  CHECK(stages.last<ProcessExit>().attached_ns == 4000);
}

TEST_CASE("the next program of a process that is taken over has its own account") {
  Stages stages;
  take_over_shell(stages);
  auto exec = exec_of(6000, 1100, "/bin/cat");
  exec.total = wire::counted(1);
  stages.push(wire::exec_record(kShell, exec));
  CHECK(stages.last<ProcessExec>().ended.program->exe == "/bin/bash");
  CHECK_FALSE(stages.last<ProcessExec>().ended.account.cpu_ns);
  stages.push(wire::exit_record(
      kShell, {.time_ns = 9000, .program_start_ns = 6000, .total = wire::counted(3), .flags = TRACER_FLAG_EXECUTED}));
  CHECK(stages.last<ProcessExit>().program.account.cpu_ns == 200);
  CHECK(stages.last<ProcessExit>().account.cpu_ns == 300);
  CHECK_FALSE(stages.last<ProcessExit>().account.process_ledger);
}
