// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.hpp"

#include <optional>
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

namespace {

CgroupMemoryRecord charged(std::uint64_t cgroup_id, std::uint64_t memory_bytes = 1000) {
  CgroupMemoryRecord record;
  record.cgroup_id = cgroup_id;
  record.memory_bytes = memory_bytes;
  return record;
}

CgroupMemoryRecord charged(std::uint64_t cgroup_id, std::uint64_t memory_bytes, std::uint64_t processes,
                           std::uint64_t foreign) {
  CgroupMemoryRecord record = charged(cgroup_id, memory_bytes);
  record.processes = processes;
  record.foreign = foreign;
  return record;
}

}  // namespace

TEST_CASE("the records of a process's threads add up to a sample") {
  Stages stages;
  start_shell(stages);
  const auto samples = stages.sample(
      {wire::thread_record(kShell, {.time_ns = 5000, .tid = 100, .own = wire::counted(1), .ended = wire::counted(4)}),
       wire::thread_record(kShell, {.time_ns = 5001, .tid = 110, .own = wire::counted(2)})});
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].process->pid == 100);
  CHECK(samples[0].process->program->exe == "/bin/bash");
  CHECK(samples[0].threads == 2);
  CHECK(samples[0].time_ns == 5001);
  CHECK(samples[0].account.cpu_ns == 700);
  CHECK(samples[0].account.written_bytes == 77);
  CHECK(samples[0].account.user_ns.has_value());
  CHECK(stages.sample({}).empty());
}

TEST_CASE("threads that ended before tracking leave a sample's input and output unknown") {
  Stages stages;
  const auto samples = stages.sample(
      {wire::thread_record(kShell, {.tid = 100, .own = wire::counted(1), .flags = TRACER_FLAG_LOST_THREADS})});
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].account.cpu_ns == 100);
  CHECK_FALSE(samples[0].account.read_bytes.has_value());
}

TEST_CASE("a sample's split is there when no thread has ended") {
  Stages stages;
  const auto samples = stages.sample({wire::thread_record(kShell, {.tid = 100, .own = wire::counted(1)})});
  CHECK(samples.at(0).account.user_ns == 75);
  CHECK(samples.at(0).account.system_ns == 25);
}

TEST_CASE("a pass that begins to track a process tells its start once") {
  Stages stages;
  for (const std::uint32_t tid : {100u, 110u})
    stages.push(wire::thread_record(kShell, {.tid = tid, .attached_ns = 4000, .newly_adopted = 1}));
  REQUIRE(stages.events.size() == 1);
  CHECK(stages.last<ProcessStart>().attached_ns == 4000);
  CHECK(stages.last<ProcessStart>().time_ns == 4000);
}

TEST_CASE("processes whose exits were lost are forgotten when there are too many") {
  Stages stages({}, false, 10);
  for (std::uint32_t pid = 1; pid <= 25; ++pid) stages.push(wire::start_record({.pid = pid, .start_ns = pid}));
  CHECK(stages.events.size() == 25);
  CHECK(stages.correlator.forgotten() == 20);
}

TEST_CASE("one that ends while a snapshot is taken is not in it") {
  const auto records = {wire::thread_record(kShell, {.tid = 100}), wire::thread_record(kChild, {.tid = 101}),
                        wire::exit_record(kShell, {.time_ns = 3000, .program_start_ns = 1000})};
  Stages stages;
  const auto samples = stages.sample(records);
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].process->pid == 101);
  for (const wire::Bytes& record : records) stages.push(record);
  CHECK(collect::kinds_of(stages.take_snapshot(4321, Correlator::Folding::kNone)) ==
        std::vector{EventKind::kProcessSample, EventKind::kSnapshotEnd});
}

TEST_CASE("all of a snapshot has one time") {
  Stages stages;
  stages.push(wire::thread_record(kShell, {.time_ns = 5000, .tid = 100, .anonymous_pages = 3}));
  stages.push(wire::thread_record(kChild, {.time_ns = 5001, .tid = 101, .anonymous_pages = 4}));
  stages.push(wire::cgroup_record(1, "/a"));
  stages.push(charged(1, 1 << 20, 2, 0));
  const auto events = stages.take_snapshot(4321, Correlator::Folding::kOfMany);
  CHECK(collect::kinds_of(events) == std::vector{EventKind::kProcessSample, EventKind::kProcessSample,
                                                 EventKind::kCgroupSample, EventKind::kSnapshotEnd});
  CHECK(events.back().get_if<SnapshotEnd>()->processes == 2);
  for (const Event& event : events) CHECK(event.time_ns() == 4321);
  const auto cgroup = collect::all_of<CgroupSample>(events).at(0);
  CHECK(cgroup.cgroup->path == "/a");
  CHECK(cgroup.followed_processes == 2);
  CHECK(cgroup.held_bytes == bytes_of_pages(7));
  stages.push(wire::thread_record(kShell, {.tid = 100}));
  CHECK(stages.take_snapshot(4322, Correlator::Folding::kOfMany).size() == 2);
}

TEST_CASE("many processes of one tool are told together only where that is asked for") {
  for (const auto folding : {Correlator::Folding::kNone, Correlator::Folding::kOfMany}) {
    Stages stages;
    for (std::uint32_t pid = 1; pid <= 65; ++pid)
      stages.push(wire::thread_record({.pid = pid, .start_ns = pid}, {.tid = pid, .own = wire::counted(1)}));
    stages.push(charged(1, 1000, 70, 5));
    const auto events = stages.take_snapshot(4321, folding);
    const bool folds = folding == Correlator::Folding::kOfMany;
    CHECK(collect::all_of<ProcessSample>(events).size() == (folds ? 0 : 65));
    CHECK(collect::all_of<CgroupSample>(events).at(0).followed_processes == 65);
    const auto sums = collect::all_of<ToolSample>(events);
    REQUIRE(sums.size() == (folds ? 1 : 0));
    if (!folds) continue;
    CHECK(sums[0].time_ns == 4321);
    CHECK(sums[0].processes == 65);
    CHECK(sums[0].account.cpu_ns == 6500);
  }
}

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A shell that has computed for so many times 100 ns.
void take_shell(Stages& stages, std::uint64_t time_ns, std::uint64_t units, const Who& who = kShell,
                std::uint64_t pages = 3) {
  stages.correlator.begin_snapshot();
  stages.push(wire::thread_record(who, {.tid = 100, .own = wire::counted(units), .anonymous_pages = pages}));
  stages.take_snapshot(time_ns, Correlator::Folding::kOfMany);
}

}  // namespace

TEST_CASE("the host rests where nothing grows, ends, or computes for more than a twentieth of one CPU") {
  Stages stages;
  CHECK_FALSE(stages.correlator.at_rest());
  take_shell(stages, 10 * kSecond, 1000);
  take_shell(stages, 11 * kSecond, 1000);
  CHECK(stages.correlator.at_rest());
  take_shell(stages, 12 * kSecond, 501'000);
  CHECK(stages.correlator.at_rest());
  take_shell(stages, 13 * kSecond, 1'001'001);
  CHECK_FALSE(stages.correlator.at_rest());
  take_shell(stages, 14 * kSecond, 1'001'001);
  CHECK(stages.correlator.at_rest());
  take_shell(stages, 15 * kSecond, 1'001'000);
  CHECK_FALSE(stages.correlator.at_rest());
  take_shell(stages, 16 * kSecond, 1'001'000, kShell, 3 + (8u << 20) / 4096);
  CHECK_FALSE(stages.correlator.at_rest());
}

TEST_CASE("while something is in a run, the host does not rest") {
  Stages stages;
  stages.set_context(7, {.pipeline = "p", .run = "r"});
  Who in_run = kShell;
  in_run.context_id = 7;
  for (std::uint64_t second = 10; second < 13; ++second) take_shell(stages, second * kSecond, 1000, in_run);
  CHECK_FALSE(stages.correlator.at_rest());
}

TEST_CASE("what came before a snapshot is begun is not in it, nor are its cgroups") {
  Stages stages;
  stages.push(wire::thread_record(kShell, {.tid = 100, .own = wire::counted(1)}));
  stages.push(wire::thread_record(kChild, {.tid = 101}));
  stages.push(charged(1, 1000));
  stages.correlator.begin_snapshot();
  stages.push(wire::thread_record(kShell, {.tid = 100, .own = wire::counted(2)}));
  const auto events = stages.take_snapshot(4321, Correlator::Folding::kNone);
  REQUIRE(events.size() == 2);
  CHECK((*events[0].get_if<ProcessSample>()).account.cpu_ns == 200);
}

TEST_CASE("followed in a cgroup are all that are tracked, unless user space decides a part of the filter") {
  const auto followed_of = [](const Filter& filter) {
    Stages stages(filter, true);
    stages.push(wire::thread_record(kShell, {.tid = 100}));
    stages.push(charged(1, 1000, 7, 2));
    return collect::all_of<CgroupSample>(stages.take_snapshot(4321, Correlator::Folding::kNone))
        .at(0)
        .followed_processes;
  };
  Filter of_kernel;
  of_kernel.include_uid(1000);
  Filter of_user_space;
  of_user_space.exclude_tool("cat");
  CHECK(followed_of({}) == 5);
  CHECK(followed_of(of_kernel) == 5);
  CHECK(followed_of(of_user_space) == 1);
}

TEST_CASE("a process that moves to another cgroup is found there by the next visit") {
  Stages stages;
  stages.push(wire::cgroup_record(1, "/a"));
  stages.push(wire::cgroup_record(2, "/docker/" + std::string(64, 'e')));
  start_shell(stages);
  Who moved = kShell;
  moved.cgroup_id = 2;
  auto samples = stages.sample({wire::thread_record(moved, {.tid = 100})});
  CHECK(samples.at(0).process->cgroup->id == 2);
  CHECK(samples.at(0).process->cgroup->path == "/docker/" + std::string(64, 'e'));
  CHECK(samples.at(0).process->cgroup->container_id == std::string(64, 'e'));
  CHECK(samples.at(0).process->program->exe == "/bin/bash");
  moved.cgroup_id = 3;
  samples = stages.sample({wire::thread_record(moved, {.tid = 100})});
  CHECK(samples.at(0).process->cgroup->id == 3);
  CHECK_FALSE(samples.at(0).process->cgroup->path.has_value());
  CHECK_FALSE(samples.at(0).process->cgroup->container_id.has_value());
  stages.push(wire::exit_record(moved, {.time_ns = 3000, .program_start_ns = 1100}));
  CHECK(stages.last<ProcessExit>().process->cgroup->id == 3);
  CHECK(stages.last<ProcessExit>().process->program->exe == "/bin/bash");
  CHECK(stages.last<ProcessExec>().process->cgroup->path == "/a");
}

TEST_CASE("a cgroup's followed processes are those that are in it now") {
  Stages stages;
  start_shell(stages);
  Who moved = kShell;
  moved.cgroup_id = 2;
  for (const std::uint64_t id : {1u, 2u}) stages.push(charged(id, 1000));
  stages.push(wire::thread_record(moved, {.tid = 100}));
  const auto events = stages.take_snapshot(4321, Correlator::Folding::kNone);
  const auto cgroups = collect::all_of<CgroupSample>(events);
  REQUIRE(cgroups.size() == 1);
  CHECK(cgroups[0].cgroup->id == 2);
}

TEST_CASE("a snapshot's rates are those since the snapshot before, whoever asks what lives in between") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  using Rate = std::optional<std::uint64_t>;
  Stages stages;
  const auto read_to = [&](std::uint64_t time_ns, std::uint64_t position_bytes) {
    FileRecord file;
    file.pid = kShell.pid;
    file.start_ns = kShell.start_ns;
    file.time_ns = time_ns;
    file.position_bytes = position_bytes;
    file.size_bytes = 10'000;
    file.readable = true;
    stages.push(file);
    stages.push(wire::thread_record(kShell, {.tid = 100}));
  };
  const auto rate_now = [&](std::uint64_t time_ns, std::uint64_t position_bytes) -> Rate {
    stages.correlator.begin_snapshot();
    read_to(time_ns, position_bytes);
    return stages.correlator.take_samples().at(0).progress->bytes_per_s;
  };
  std::vector<Rate> rates;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const std::uint64_t time_ns = round * kSecond;
    stages.correlator.begin_snapshot();
    read_to(time_ns, round * 300);
    const auto events = stages.take_snapshot(time_ns, Correlator::Folding::kNone);
    // At the first snapshot nothing has moved yet.
    const auto& progress = events.at(0).get_if<ProcessSample>()->progress;
    CHECK(progress.has_value() == (round > 1));
    rates.push_back(progress ? progress->bytes_per_s : Rate{});
    CHECK(rate_now(time_ns + kSecond / 2, round * 300 + 100) == 200);
  }
  CHECK(rates == std::vector<Rate>{{}, 300, 300});
}

TEST_CASE("once ledgers are stopped samples have none") {
  Stages stages;
  tracer_wire_waits waits{};
  waits.threads = 1;
  waits.wall_ns = 900;
  const auto record = wire::thread_record(kShell, {.tid = 100, .own = wire::counted(1), .waits = waits});
  CHECK(stages.sample({record}).at(0).account.ledger->wall_ns == 900);
  std::vector<tracer::Event> events;
  stages.correlator.stop(Family::kWaits, 0, events);
  const auto samples = stages.sample({record});
  CHECK_FALSE(samples.at(0).account.ledger.has_value());
  CHECK(samples.at(0).account.cpu_ns == 100);
}

TEST_CASE("a process that moves to another cgroup keeps the parent that it began with") {
  Stages stages;
  stages.push(wire::start_record(kReparented));
  Who moved = kReparented;
  moved.cgroup_id = 2;
  moved.parent_pid = 1;  // Its parent has ended.
  moved.parent_start_ns = 1;
  const auto samples = stages.sample({wire::thread_record(moved, {.tid = 100})});
  CHECK(samples.at(0).process->cgroup->id == 2);
  CHECK(samples.at(0).process->parent_pid == 50);
  CHECK(samples.at(0).process->parent_start_ns == 500);
}

TEST_CASE("a process that moves to another cgroup keeps its name, whatever its threads are called") {
  Stages stages;
  stages.push(wire::start_record(kReparented));
  Who moved = kReparented;
  moved.cgroup_id = 2;
  moved.comm = "worker-1";
  const auto samples = stages.sample({wire::thread_record(moved, {.tid = 110})});
  CHECK(samples.at(0).process->cgroup->id == 2);
  CHECK(samples.at(0).process->program->comm == "bash");
}
