// SPDX-License-Identifier: Apache-2.0
/// What becomes of the sums of block devices.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "collect.hpp"
#include "source/kernel/device_sums.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;
using wire::Who;

namespace {

constexpr std::uint32_t kDisk = 254u << 20;
const Who kHeavy{.pid = 42, .start_ns = 1000, .comm = "sort"};
const Who kLight{.pid = 43, .start_ns = 2000, .comm = "gzip"};
const Who kUnknown{.pid = 44, .start_ns = 3000, .comm = "dd"};

DeviceRecord used_by(std::initializer_list<std::pair<Who, std::uint64_t>> uses) {
  DeviceRecord record;
  record.time_ns = 5000;
  record.since_ns = 4000;
  record.device = kDisk;
  record.name = "vda";
  record.read_requests = 1;
  record.write_requests = 2;
  record.read_bytes = 4096;
  record.written_bytes = 8192;
  record.read_latency_ns = 100;
  record.write_latency_ns = 200;
  record.latency_p99_at_most_ns = 2000;
  record.busy_ns = 500;
  for (const auto& [who, bytes] : uses) record.uses.push_back({who.pid, who.start_ns, bytes});
  return record;
}

void end(Stages& stages, const Who& who, std::uint64_t storage_bytes) {
  wire::Exit exit{.time_ns = 4500, .program_start_ns = who.start_ns};
  exit.total.storage_written_bytes = storage_bytes;
  stages.push(wire::exit_record(who, exit));
}

/// Of one snapshot with this record.
DeviceSample sampled(Stages& stages, const DeviceRecord& record) {
  stages.correlator.begin_snapshot();
  stages.push(Record(record));
  const auto events = stages.take_snapshot(6000, Correlator::Folding::kNone);
  const auto samples = collect::all_of<DeviceSample>(events);
  REQUIRE(samples.size() == 1);
  CHECK(events.back().kind() == EventKind::kSnapshotEnd);
  return samples[0];
}

tracer_device_sums sums_of(std::initializer_list<std::pair<std::size_t, std::uint64_t>> slots) {
  tracer_device_sums sums{};
  for (const auto& [slot, count] : slots) sums.slots[slot] = count;
  return sums;
}

std::optional<std::uint64_t> p99_ns(std::initializer_list<std::pair<std::size_t, std::uint64_t>> slots) {
  DeviceRecord record;
  take_difference({}, sums_of(slots), record);
  return record.latency_p99_at_most_ns;
}

}  // namespace

TEST_CASE("the device for which a process waited longest is that of its sample and its exit") {
  Stages stages;
  stages.push(wire::start_record(kHeavy));
  stages.push(wire::start_record(kLight));
  DiskWaitsRecord record;
  record.identity.pid = kHeavy.pid;
  record.identity.start_ns = kHeavy.start_ns;
  record.waits = {{kDisk, "vda", 300}, {kDisk + 16, "vdb", 700}};
  stages.push(Record(record));
  record.waits = {{kDisk, "vda", 900}, {kDisk + 16, "vdb", 700}};
  stages.push(Record(record));
  // Of one that has gone nobody knows the name; another with this number is not meant.
  record.identity.pid = kLight.pid;
  record.identity.start_ns = kLight.start_ns;
  record.waits = {{kDisk, std::nullopt, 900}};
  stages.push(Record(record));
  record.identity.start_ns = kLight.start_ns + 1;
  record.waits = {{kDisk, "vda", 900}};
  stages.push(Record(record));
  end(stages, kHeavy, 0);
  end(stages, kLight, 0);
  const auto exits = stages.all<ProcessExit>();
  REQUIRE(exits.size() == 2);
  CHECK(exits[0].disk_wait_device == "vda");
  CHECK(exits[0].disk_wait_device_ns == 900u);
  CHECK_FALSE(exits[1].disk_wait_device.has_value());
  CHECK_FALSE(exits[1].disk_wait_device_ns.has_value());
}

TEST_CASE("a sample says what the device did, and which process asked for most") {
  Stages stages;
  stages.push(wire::start_record(kHeavy));
  stages.push(wire::start_record(kLight));
  const auto sample = sampled(stages, used_by({{kHeavy, 9000}, {kLight, 100}}));
  CHECK(sample.time_ns == 6000);
  CHECK(sample.since_ns == 4000);
  CHECK(sample.device == kDisk);
  CHECK(sample.device_name == "vda");
  CHECK(sample.read_requests == 1);
  CHECK(sample.write_requests == 2);
  CHECK(sample.read_bytes == 4096);
  CHECK(sample.written_bytes == 8192);
  CHECK(sample.read_latency_ns == 100);
  CHECK(sample.write_latency_ns == 200);
  CHECK(sample.latency_p99_at_most_ns == 2000);
  CHECK(sample.busy_ns == 500);
  CHECK(sample.heaviest_pid == 42);
  CHECK(sample.heaviest_tool == "sort");
  CHECK(sample.heaviest_bytes == 9000);
}

TEST_CASE("of processes that asked for the same the first is named") {
  Stages stages;
  stages.push(wire::start_record(kHeavy));
  stages.push(wire::start_record(kLight));
  CHECK(sampled(stages, used_by({{kLight, 100}, {kHeavy, 100}})).heaviest_pid == 43);
}

TEST_CASE("where no followed process asked for anything, none is named") {
  Stages stages;
  const auto sample = sampled(stages, used_by({}));
  CHECK(sample.read_bytes == 4096);
  CHECK_FALSE(sample.heaviest_pid.has_value());
  CHECK_FALSE(sample.heaviest_tool.has_value());
  CHECK_FALSE(sample.heaviest_bytes.has_value());
}

TEST_CASE("a process that is not known may be the heaviest: then none is named") {
  Stages stages;
  stages.push(wire::start_record(kLight));
  CHECK_FALSE(sampled(stages, used_by({{kUnknown, 9000}, {kLight, 100}})).heaviest_pid.has_value());
  CHECK(sampled(stages, used_by({{kLight, 100}, {kUnknown, 9}})).heaviest_pid == 43);
}

TEST_CASE("a pid that is another process's by now names nobody") {
  Stages stages;
  stages.push(wire::start_record({.pid = 42, .start_ns = 9999, .comm = "later"}));
  CHECK_FALSE(sampled(stages, used_by({{kHeavy, 9000}})).heaviest_pid.has_value());
}

TEST_CASE("a process that the filter leaves out is not named, whether it lives or has ended") {
  for (const bool ends : {false, true}) {
    CAPTURE(ends);
    Stages stages(Filter().exclude_tool("sort"));
    stages.push(wire::start_record(kHeavy));
    stages.push(
        wire::exec_record(kHeavy, {.time_ns = 1500, .program_start_ns = 1000, .exe = "/bin/sort", .argv = {"sort"}}));
    stages.push(wire::start_record(kLight));
    if (ends) end(stages, kHeavy, 9000);
    CHECK(sampled(stages, used_by({{kHeavy, 9000}, {kLight, 100}})).heaviest_pid == 43);
  }
}

TEST_CASE("a process that has ended since the last snapshot is named, with its labels, in the next one only") {
  Stages stages;
  stages.set_context(1, {.task = "map"});
  Who who = kHeavy;
  who.context_id = 1;
  stages.push(wire::start_record(who));
  stages.push(wire::start_record(kLight));
  end(stages, who, 9000);
  const auto sample = sampled(stages, used_by({{kHeavy, 9000}, {kLight, 100}}));
  CHECK(sample.heaviest_pid == 42);
  CHECK(sample.heaviest_tool == "sort");
  CHECK(sample.context->task == "map");
  CHECK_FALSE(sampled(stages, used_by({{kHeavy, 9000}, {kLight, 100}})).heaviest_pid.has_value());
}

TEST_CASE("where the family is off, no sample is made") {
  Stages stages;
  std::vector<Event> events;
  stages.correlator.stop(Family::kDisks, 0, events);
  stages.correlator.begin_snapshot();
  CHECK(collect::all_of<DeviceSample>(stages.take_snapshot(6000, Correlator::Folding::kNone)).empty());
}

TEST_CASE("figures of a device are differences of its sums, and means those of what was timed") {
  tracer_device_sums before{};
  before.requests[0] = 10;
  before.requests[1] = 20;
  before.bytes[0] = 1000;
  before.bytes[1] = 2000;
  before.latency_ns[0] = 500;
  before.timed[0] = 5;
  before.slots[3] = 5;
  tracer_device_sums now = before;
  CHECK(same_sums(before, now));
  now.requests[0] = 14;
  now.requests[1] = 21;
  now.bytes[0] = 5096;
  now.bytes[1] = 2512;
  // One of the four was issued before anybody looked.
  now.latency_ns[0] = 500 + 3 * 7000;
  now.timed[0] = 8;
  now.slots[2] = 3;
  CHECK_FALSE(same_sums(before, now));
  DeviceRecord record;
  take_difference(before, now, record);
  CHECK(record.read_requests == 4);
  CHECK(record.write_requests == 1);
  CHECK(record.read_bytes == 4096);
  CHECK(record.written_bytes == 512);
  CHECK(record.read_latency_ns == 7000);
  CHECK_FALSE(record.write_latency_ns.has_value());
  CHECK(record.latency_p99_at_most_ns == 8000);
}

TEST_CASE("the 99th percentile is bounded by the upper edge of its slot") {
  CHECK_FALSE(p99_ns({}).has_value());
  CHECK(p99_ns({{0, 1}}) == 2000);
  CHECK(p99_ns({{10, 1}}) == 2'048'000);
  // 99 of 100 are in the lower one.
  CHECK(p99_ns({{4, 99}, {20, 1}}) == 32'000);
  CHECK(p99_ns({{4, 98}, {20, 2}}) == 2'097'152'000);
  // Of fewer, 99 of 100 are all.
  CHECK(p99_ns({{4, 98}, {20, 1}}) == 2'097'152'000);
  CHECK(p99_ns({{4, 197}, {6, 1}, {20, 1}}) == 128'000);
  // What took more than half an hour has no bound.
  CHECK_FALSE(p99_ns({{TRACER_LATENCY_SLOTS - 1, 1}}).has_value());
}

TEST_CASE("whoever has ended is known, however many of another user have") {
  Stages stages;
  for (std::uint32_t pid = 10'000; pid < 20'000; ++pid) {
    const Who bobs{.pid = pid, .start_ns = 1000, .uid = 1001, .comm = "crowd"};
    stages.push(wire::start_record(bobs));
    end(stages, bobs, 4096);
  }
  stages.push(wire::start_record(kHeavy));
  end(stages, kHeavy, 8192);
  CHECK(sampled(stages, used_by({{kHeavy, 8192}})).heaviest_pid == kHeavy.pid);
}
