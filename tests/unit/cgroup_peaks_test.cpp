// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

namespace {

/// In which all processes are followed, unless said otherwise.
struct Charge {
  std::uint64_t time_ns = 1;
  std::uint64_t cgroup_id = 50;
  std::string hierarchy = "v2";
  std::optional<std::uint64_t> memory = 100;
  std::optional<std::uint64_t> peak = {};
  std::optional<std::uint64_t> processes = 3;
  std::optional<std::uint64_t> followed = 3;
  bool has_below = false;
};

CgroupSample cgroup_of(const Charge& charge) {
  CgroupSample sample;
  sample.time_ns = charge.time_ns;
  sample.cgroup = std::make_shared<const Cgroup>(Cgroup{.id = charge.cgroup_id, .hierarchy = charge.hierarchy});
  sample.memory_bytes = charge.memory;
  sample.memory_peak_bytes = charge.peak;
  sample.processes = charge.processes;
  sample.followed_processes = charge.followed;
  sample.has_below = charge.has_below;
  return sample;
}

std::vector<CgroupMemory> cgroups_of(std::initializer_list<Charge> charges) {
  Summary summary;
  for (const Charge& charge : charges) summary.add(cgroup_of(charge));
  return summary.cgroups();
}

}  // namespace

TEST_CASE("of a cgroup the sample with the most memory is kept") {
  const auto cgroups = cgroups_of({{.time_ns = 1, .memory = 100}, {.time_ns = 2, .memory = 300}, {.time_ns = 3}});
  REQUIRE(cgroups.size() == 1);
  CHECK(cgroups[0].highest.time_ns == 2);
  CHECK(cgroups[0].highest.memory_bytes == 300);
  CHECK(cgroups[0].followed_wholly);
}

TEST_CASE("a cgroup's peak is the kernel's mark if it rose, and else the most of all snapshots") {
  const auto risen =
      cgroups_of({{.memory = 100, .peak = 700}, {.memory = 300, .peak = 800}, {.memory = 200, .peak = 800}});
  CHECK(risen.at(0).peak_bytes == 800);
  CHECK_FALSE(risen.at(0).peak_is_floor);
  const auto earlier = cgroups_of({{.memory = 100, .peak = 700}, {.memory = 300, .peak = 700}});
  CHECK(earlier.at(0).peak_bytes == 300);
  CHECK(earlier.at(0).peak_is_floor);
  const auto at_once = cgroups_of({{.memory = 700, .peak = 700}, {.memory = 300, .peak = 700}});
  CHECK(at_once.at(0).peak_bytes == 700);
  CHECK_FALSE(at_once.at(0).peak_is_floor);
  CHECK(cgroups_of({{.memory = 100}, {.memory = 300}, {.memory = 200}}).at(0).peak_bytes == 300);
}

TEST_CASE("a cgroup in which others lived at any snapshot was not followed wholly") {
  CHECK(cgroups_of({{}, {}}).at(0).followed_wholly);
  CHECK_FALSE(cgroups_of({{}, {.followed = 2}, {}}).at(0).followed_wholly);
  CHECK_FALSE(cgroups_of({{.processes = 4}, {.memory = 900}}).at(0).followed_wholly);
}

TEST_CASE("a cgroup with others below it, or whose processes were not counted, is not known to be followed wholly") {
  CHECK_FALSE(cgroups_of({{}, {.has_below = true}, {}}).at(0).followed_wholly);
  CHECK_FALSE(cgroups_of({{}, {.followed = {}}, {}}).at(0).followed_wholly);
  CHECK_FALSE(cgroups_of({{}, {.processes = {}}, {}}).at(0).followed_wholly);
  CHECK_FALSE(cgroups_of({{}, {.processes = {}, .followed = {}}, {}}).at(0).followed_wholly);
}

TEST_CASE("cgroups come with the highest peak first, and by hierarchy and number") {
  const auto cgroups = cgroups_of(
      {{.memory = 100}, {.cgroup_id = 51, .memory = 900}, {.hierarchy = "memory", .memory = 500}, {.cgroup_id = 52}});
  REQUIRE(cgroups.size() == 4);
  CHECK(cgroups[0].highest.cgroup->id == 51);
  CHECK(cgroups[1].highest.cgroup->hierarchy == "memory");
  CHECK(cgroups[2].peak_bytes == 100);
  CHECK(cgroups[3].peak_bytes == 100);
}

TEST_CASE("a cgroup's sample without its memory says nothing") {
  CHECK(cgroups_of({{.memory = {}, .peak = 900}}).empty());
  CHECK(cgroups_of({{}, {.memory = {}, .peak = 900, .followed = 1}}).at(0).peak_bytes == 100);
}

TEST_CASE("of very many cgroups those with the highest peaks are kept") {
  Summary summary;
  for (std::uint64_t id = 1; id <= 300; ++id) summary.add(cgroup_of({.cgroup_id = id, .memory = id}));
  const auto cgroups = summary.cgroups();
  REQUIRE(cgroups.size() == 256);
  CHECK(cgroups.front().highest.cgroup->id == 300);
  CHECK(cgroups.back().highest.cgroup->id == 45);
}
