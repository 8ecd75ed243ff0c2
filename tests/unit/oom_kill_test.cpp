// SPDX-License-Identifier: Apache-2.0
/// What becomes of the records of the family memory.
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include <tracer/event.hpp>
#include <tracer/summary.hpp>

#include "collect.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;
using wire::Who;

namespace {

const Who kVictim{.pid = 42, .start_ns = 1000, .comm = "sort"};

void end(Stages& stages, std::uint32_t flags, std::uint32_t status = SIGKILL) {
  stages.push(
      wire::exit_record(kVictim, {.time_ns = 3000, .program_start_ns = 1000, .exit_code = status, .flags = flags}));
}

}  // namespace

TEST_CASE("a kill is an event of its victim, with the limit in bytes") {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Stages stages;
  stages.push(wire::start_record(kVictim));
  stages.push(wire::oom_kill_record(kVictim, 2500, "/job/step", 7));
  const auto kill = stages.last<OomKill>();
  CHECK(kill.time_ns == 2500);
  CHECK(kill.process->pid == 42);
  CHECK(kill.process->program->comm == "sort");
  CHECK(kill.scope == "cgroup");
  CHECK(kill.limit_cgroup == "/job/step");
  CHECK(kill.limit_bytes == 100 * page);
  CHECK(kill.usage_bytes == 99 * page);
  CHECK(kill.peak_bytes == 100 * page);
  CHECK(kill.allocator_pid == 7);
}

TEST_CASE("of the host's memory there is no limit, and of the kernel no pid") {
  Stages stages;
  stages.push(wire::start_record(kVictim));
  stages.push(wire::oom_kill_record(kVictim, 2500, std::nullopt));
  const auto kill = stages.last<OomKill>();
  CHECK(kill.scope == "host");
  CHECK_FALSE(kill.limit_cgroup.has_value());
  CHECK_FALSE(kill.limit_bytes.has_value());
  CHECK_FALSE(kill.usage_bytes.has_value());
  CHECK_FALSE(kill.peak_bytes.has_value());
  CHECK_FALSE(kill.allocator_pid.has_value());
}

TEST_CASE("a victim whose beginning was lost is reported to have begun, before its kill") {
  Stages stages;
  stages.push(wire::oom_kill_record(kVictim, 2500, "/a"));
  REQUIRE(stages.events.size() == 2);
  CHECK(stages.events[0].kind() == EventKind::kProcessStart);
  CHECK(stages.events[1].kind() == EventKind::kOomKill);
}

TEST_CASE("the kill of a process that the filter leaves out is left out") {
  Stages stages(Filter().include_tool("samtools*"));
  stages.push(wire::start_record(kVictim));
  stages.push(wire::oom_kill_record(kVictim, 2500, "/a"));
  CHECK(stages.all<OomKill>().empty());
}

TEST_CASE("an exit says whether memory had run out, only where that could be seen") {
  struct Case {
    std::uint32_t flags;
    std::uint32_t status;
    bool active;
    std::optional<bool> wanted;
  };
  constexpr std::uint32_t kByKernel = TRACER_FLAG_SENT_BY_KERNEL;
  for (const Case& each :
       {Case{kByKernel | TRACER_FLAG_OOM_KILLED, SIGKILL, true, true}, Case{kByKernel, SIGKILL, true, false},
        Case{TRACER_FLAG_SENT_BY_PROCESS, SIGKILL, true, false}, Case{0, SIGKILL, true, std::nullopt},
        Case{0, SIGSEGV, true, false}, Case{0, 0, true, false}, Case{0, 0x100, true, false},
        Case{kByKernel | TRACER_FLAG_OOM_KILLED, SIGKILL, false, std::nullopt}, Case{0, 0, false, std::nullopt}}) {
    CAPTURE(each.flags);
    CAPTURE(each.status);
    std::vector<tracer::Event> ended;
    Stages stages;
    if (!each.active) stages.correlator.stop(Family::kMemory, 0, ended);
    stages.push(wire::start_record(kVictim));
    end(stages, each.flags, each.status);
    const auto exit = stages.last<ProcessExit>();
    CHECK(exit.oom_killed == each.wanted);
    Summary summary;
    for (const Event& event : stages.events) summary.add(event);
    if (each.status != SIGKILL) continue;
    REQUIRE(summary.failures().size() == 1);
    CHECK(summary.failures()[0].oom_killed == each.wanted);
  }
}
