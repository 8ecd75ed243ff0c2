// SPDX-License-Identifier: Apache-2.0
#include "correlate/cgroup_samples.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

CgroupMemoryRecord charged(std::uint64_t cgroup_id, Hierarchy hierarchy = Hierarchy::kV2) {
  CgroupMemoryRecord record;
  record.cgroup_id = cgroup_id;
  record.hierarchy = hierarchy;
  record.processes = 5;
  record.foreign = 2;
  record.memory_bytes = 1000;
  record.peak_bytes = 2000;
  record.file_bytes = 250;
  record.shmem_bytes = 50;
  record.kernel_bytes = 40;
  record.throttled_ns = 7;
  return record;
}

ProcessSample in(std::optional<std::uint64_t> cgroup_id, std::optional<std::uint64_t> anonymous = 100,
                 std::optional<std::string> hierarchy = "v2") {
  ProcessSample sample;
  sample.time_ns = 777;
  sample.process = build::process({.cgroup = {.id = cgroup_id, .hierarchy = std::move(hierarchy)}});
  sample.rss_anonymous_bytes = anonymous;
  sample.rss_file_bytes = 5000;
  sample.rss_shared_bytes = 6000;
  return sample;
}

/// By default as with a filter of which the kernel decides all.
std::vector<CgroupSample> joined(const std::vector<CgroupMemoryRecord>& records,
                                 const std::vector<ProcessSample>& samples, bool tracked_is_followed = true) {
  CgroupTable cgroups;
  return cgroup_samples(records, samples, cgroups, tracked_is_followed);
}

CgroupSample only(const CgroupMemoryRecord& record, const std::vector<ProcessSample>& samples,
                  bool tracked_is_followed = true) {
  const auto all = joined({record}, samples, tracked_is_followed);
  REQUIRE(all.size() == 1);
  return all[0];
}

}  // namespace

TEST_CASE("a cgroup's sample joins what is charged to it with what its processes hold") {
  const CgroupSample sample = only(charged(50), {in(50, 100), in(50, 200)});
  CHECK(sample.time_ns == 777);
  CHECK(sample.cgroup->id == 50);
  CHECK(sample.cgroup->hierarchy == "v2");
  CHECK_FALSE(sample.has_below);
  CHECK(sample.processes == 5);
  CHECK(sample.followed_processes == 3);
  CHECK(sample.memory_bytes == 1000);
  CHECK(sample.memory_peak_bytes == 2000);
  CHECK(sample.file_bytes == 250);
  CHECK(sample.shmem_bytes == 50);
  CHECK(sample.kernel_bytes == 40);
  CHECK(sample.held_bytes == 300);
  CHECK(sample.unexplained_bytes == 1000 - 300 - 300 - 40);
  CHECK(sample.throttled_ns == 7);
}

TEST_CASE("only cgroups with followed processes are told") {
  CHECK(joined({charged(50), charged(51)}, {}).empty());
  const auto all = joined({charged(50), charged(51), charged(52)}, {in(51), in(53), in({}, 100, {})});
  REQUIRE(all.size() == 1);
  CHECK(all[0].cgroup->id == 51);
  CHECK(joined({}, {in(50)}).empty());
}

TEST_CASE("the same number in another hierarchy is another cgroup") {
  const auto all = joined({charged(50), charged(50, Hierarchy::kV1Memory)},
                          {in(50, 100, "memory"), in(50, 100, "memory"), in(50, 200, "pids")}, false);
  REQUIRE(all.size() == 1);
  CHECK(all[0].cgroup->hierarchy == "memory");
  CHECK(all[0].followed_processes == 2);
  CHECK(all[0].held_bytes == 200);
}

TEST_CASE("each cgroup counts its own processes") {
  const auto all = joined({charged(50), charged(51)}, {in(50, 1), in(51, 2), in(51, 4)}, false);
  REQUIRE(all.size() == 2);
  CHECK(all[0].held_bytes == 1);
  CHECK(all[0].followed_processes == 1);
  CHECK(all[1].held_bytes == 6);
  CHECK(all[1].followed_processes == 2);
}

TEST_CASE("a cgroup's path and container come from the table") {
  CgroupTable cgroups;
  cgroups.set(Hierarchy::kV2, 50, "/docker/" + kId);
  cgroups.set(Hierarchy::kV1Memory, 51, "/other");
  const auto all = cgroup_samples({charged(50), charged(51), charged(51, Hierarchy::kV1Memory)},
                                  {in(50), in(51), in(51, 100, "memory")}, cgroups, true);
  REQUIRE(all.size() == 3);
  CHECK(all[0].cgroup->path == "/docker/" + kId);
  CHECK(all[0].cgroup->container_id == kId);
  CHECK_FALSE(all[1].cgroup->path.has_value());
  CHECK_FALSE(all[1].cgroup->container_id.has_value());
  CHECK(all[2].cgroup->path == "/other");
  CHECK_FALSE(all[2].cgroup->container_id.has_value());
}

TEST_CASE("where the kernel decides the whole filter, all that are tracked are followed, sampled or not") {
  CHECK(only(charged(50), {in(50)}).followed_processes == 3);
  CHECK(only(charged(50), {in(50), in(50), in(50), in(50)}).followed_processes == 3);
  CgroupMemoryRecord record = charged(50);
  record.foreign = 0;
  CHECK(only(record, {in(50)}).followed_processes == 5);
  record.foreign = 9;
  CHECK(only(record, {in(50)}).followed_processes == 0);
}

TEST_CASE("where user space decides a part of the filter, those that are sampled are followed") {
  CHECK(only(charged(50), {in(50), in(51)}, false).followed_processes == 1);
  CgroupMemoryRecord record = charged(50);
  record.foreign = 0;
  CHECK(only(record, {in(50), in(50)}, false).followed_processes == 2);
}

TEST_CASE("no more are followed in a cgroup than are in it") {
  CgroupMemoryRecord record = charged(50);
  record.processes = 1;
  const CgroupSample sample = only(record, {in(50), in(50), in(50)}, false);
  CHECK(sample.processes == 1);
  CHECK(sample.followed_processes == 1);
}

TEST_CASE("how many are followed is unknown unless all in the cgroup have been counted") {
  for (const bool tracked_is_followed : {false, true}) {
    CgroupMemoryRecord uncounted = charged(50);
    uncounted.processes.reset();
    CHECK_FALSE(only(uncounted, {in(50)}, tracked_is_followed).processes.has_value());
    CHECK_FALSE(only(uncounted, {in(50)}, tracked_is_followed).followed_processes.has_value());
    CgroupMemoryRecord unsorted = charged(50);
    unsorted.foreign.reset();
    CHECK(only(unsorted, {in(50)}, tracked_is_followed).processes == 5);
    CHECK_FALSE(only(unsorted, {in(50)}, tracked_is_followed).followed_processes.has_value());
  }
}

TEST_CASE("what is charged to cgroups below explains nothing: the unexplained is unknown then") {
  CgroupMemoryRecord record = charged(50);
  record.has_below = true;
  const CgroupSample sample = only(record, {in(50)});
  CHECK(sample.has_below);
  CHECK_FALSE(sample.unexplained_bytes.has_value());
  CHECK(sample.memory_bytes == 1000);
  CHECK(sample.held_bytes == 100);
  CHECK(sample.followed_processes == 3);
}

TEST_CASE("what is unexplained never goes below zero") {
  CHECK(only(charged(50), {in(50, 660)}).unexplained_bytes == 0);
  CHECK(only(charged(50), {in(50, 659)}).unexplained_bytes == 1);
  CHECK(only(charged(50), {in(50, 5000)}).unexplained_bytes == 0);
}

TEST_CASE("a part that is unknown leaves the unexplained unknown, and the other parts as they are") {
  CgroupMemoryRecord no_memory = charged(50);
  no_memory.memory_bytes.reset();
  CHECK_FALSE(only(no_memory, {in(50)}).unexplained_bytes.has_value());
  CHECK(only(no_memory, {in(50)}).held_bytes == 100);
  CgroupMemoryRecord no_file = charged(50);
  no_file.file_bytes.reset();
  CHECK_FALSE(only(no_file, {in(50)}).unexplained_bytes.has_value());
  CgroupMemoryRecord no_shmem = charged(50);
  no_shmem.shmem_bytes.reset();
  CHECK_FALSE(only(no_shmem, {in(50)}).unexplained_bytes.has_value());
  CgroupMemoryRecord no_kernel = charged(50);
  no_kernel.kernel_bytes.reset();
  CHECK_FALSE(only(no_kernel, {in(50)}).unexplained_bytes.has_value());
  CHECK(only(no_kernel, {in(50)}).file_bytes == 250);
  const CgroupSample not_held = only(charged(50), {in(50), in(50, {})});
  CHECK_FALSE(not_held.held_bytes.has_value());
  CHECK_FALSE(not_held.unexplained_bytes.has_value());
  CHECK(not_held.memory_bytes == 1000);
}

TEST_CASE("what the kernel does not tell of a cgroup is absent from its sample") {
  CgroupMemoryRecord record = charged(50);
  record.peak_bytes.reset();
  record.kernel_bytes.reset();
  record.throttled_ns.reset();
  const CgroupSample sample = only(record, {in(50)});
  CHECK_FALSE(sample.memory_peak_bytes.has_value());
  CHECK_FALSE(sample.kernel_bytes.has_value());
  CHECK_FALSE(sample.throttled_ns.has_value());
}

TEST_CASE("a process's share counts up to its anonymous memory") {
  ProcessSample copy = in(50, 100);
  copy.pss_bytes = 60;
  CHECK(only(charged(50), {copy}).held_bytes == 60);
  copy.pss_bytes = 4000;
  CHECK(only(charged(50), {copy}).held_bytes == 100);
}
