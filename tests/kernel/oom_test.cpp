// SPDX-License-Identifier: Apache-2.0
/// The family memory, against processes that are known to have been killed as memory ran out, or not.
#include <sys/wait.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/summary.hpp>

#include "capture.hpp"
#include "has_family.hpp"
#include "storage.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kLimitBytes = 16u << 20;

/// With such a limit, without swap; absent, and said: this machine gives none.
std::optional<LimitedCgroup> limited_memory() {
  auto cgroup = LimitedCgroup::make("memory");
  const char* const limit = cgroup && cgroup->is_v1() ? "memory.limit_in_bytes" : "memory.max";
  if (!cgroup || !cgroup->limit(limit, std::to_string(kLimitBytes))) {
    MESSAGE("SKIP: no limit on memory here");
    return std::nullopt;
  }
  if (!cgroup->is_v1()) cgroup->limit("memory.swap.max", "0");
  return cgroup;
}

std::vector<std::uint32_t> pids_in(const std::string& output) {
  std::vector<std::uint32_t> pids;
  std::istringstream in(output);
  for (std::uint32_t pid = 0; in >> pid;) pids.push_back(pid);
  return pids;
}

std::map<std::uint32_t, tracer::ProcessExit> exits_by_pid(const Capture& capture) {
  std::map<std::uint32_t, tracer::ProcessExit> exits;
  for (const auto& exit : capture.all<tracer::ProcessExit>()) exits.emplace(exit.process->pid, exit);
  return exits;
}

void check_kill(const tracer::OomKill& kill, const LimitedCgroup& cgroup) {
  CHECK(kill.scope == "cgroup");
  CHECK(kill.limit_bytes == kLimitBytes);
  CHECK(kill.usage_bytes.value_or(0) > kLimitBytes / 2);
  CHECK(kill.usage_bytes.value_or(0) <= kLimitBytes);
  CHECK(kill.peak_bytes.value_or(0) >= kill.usage_bytes.value_or(0));
  CHECK(kill.peak_bytes.value_or(0) <= kLimitBytes);
  CHECK(kill.limit_cgroup == '/' + std::filesystem::path(cgroup.folder()).filename().string());
}

}  // namespace

TEST_CASE("whom the kernel kills as a cgroup's memory has run out is named, below a parent that exits with 0" *
          doctest::test_suite("waits essential")) {
  const auto cgroup = limited_memory();
  if (!cgroup) return;
  const Capture capture = trace(truth::call("end_in_cgroup", {"100", cgroup->procs(), "exceed"}));
  if (!has_family(capture, "memory")) return;
  CHECK(capture.status == 0);
  CHECK(capture.exit().oom_killed == false);
  const auto victims = pids_in(capture.output);
  REQUIRE(victims.size() == 100);
  const auto exits = exits_by_pid(capture);
  std::map<std::uint32_t, tracer::OomKill> kills;
  for (const auto& kill : capture.all<tracer::OomKill>()) CHECK(kills.emplace(kill.process->pid, kill).second);
  CHECK(kills.size() == victims.size());
  tracer::Summary summary;
  for (const tracer::Event& event : capture.events) summary.add(event);
  for (const std::uint32_t pid : victims) {
    CAPTURE(pid);
    REQUIRE(kills.contains(pid));
    check_kill(kills.at(pid), *cgroup);
    CHECK(kills.at(pid).allocator_pid == pid);
    REQUIRE(exits.contains(pid));
    CHECK(exits.at(pid).oom_killed == true);
    CHECK(exits.at(pid).exit_signal == SIGKILL);
    CHECK(exits.at(pid).exit_signal_sender == "kernel");
    CHECK(kills.at(pid).time_ns <= exits.at(pid).end_ns);
  }
}

TEST_CASE("below a shell that goes on, too, and the failure says so" * doctest::test_suite("waits essential")) {
  const auto cgroup = limited_memory();
  if (!cgroup) return;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const Capture capture = trace(truth::call("shell", {self + " truth exceed " + cgroup->procs() + "; exit 0"}));
  if (!has_family(capture, "memory")) return;
  if (WIFEXITED(capture.status) && WEXITSTATUS(capture.status) == 127) {
    MESSAGE("SKIP: no shell here");
    return;
  }
  CHECK(capture.status == 0);
  const auto kills = capture.all<tracer::OomKill>();
  REQUIRE(kills.size() == 1);
  check_kill(kills[0], *cgroup);
  tracer::Summary summary;
  for (const tracer::Event& event : capture.events) summary.add(event);
  const auto failures = summary.failures();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].oom_killed);
  CHECK(failures[0].process->pid == kills[0].process->pid);
}

TEST_CASE("whom a process kills at the limit of its cgroup was killed by that process" *
          doctest::test_suite("waits essential")) {
  const auto cgroup = limited_memory();
  if (!cgroup) return;
  const Capture capture = trace(truth::call("end_in_cgroup", {"100", cgroup->procs(), "killed"}));
  if (!has_family(capture, "memory")) return;
  CHECK(capture.status == 0);
  CHECK(capture.all<tracer::OomKill>().empty());
  const auto exits = exits_by_pid(capture);
  const auto pids = pids_in(capture.output);
  REQUIRE(pids.size() == 100);
  for (const std::uint32_t pid : pids) {
    CAPTURE(pid);
    REQUIRE(exits.contains(pid));
    CHECK(exits.at(pid).oom_killed == false);
    CHECK(exits.at(pid).exit_signal_sender == "process");
  }
}

TEST_CASE("the victim is another than who asked for memory" * doctest::test_suite("waits")) {
  const auto cgroup = limited_memory();
  if (!cgroup) return;
  const Capture capture = trace(truth::call("starve_neighbor", {cgroup->procs()}));
  if (!has_family(capture, "memory")) return;
  REQUIRE(capture.status == 0);
  const auto pids = pids_in(capture.output);
  REQUIRE(pids.size() == 2);
  const auto kills = capture.all<tracer::OomKill>();
  REQUIRE(kills.size() == 1);
  check_kill(kills[0], *cgroup);
  CHECK(kills[0].process->pid == pids[0]);
  CHECK(kills[0].allocator_pid == pids[1]);
  CHECK(exits_by_pid(capture).at(pids[1]).oom_killed == false);
}

TEST_CASE("the limit may be that of a cgroup above" * doctest::test_suite("waits")) {
  const auto cgroup = limited_memory();
  if (!cgroup) return;
  const auto below = cgroup->make_below("memory");
  REQUIRE(below.has_value());
  const Capture capture = trace(truth::call("end_in_cgroup", {"3", below->procs(), "exceed"}));
  if (!has_family(capture, "memory")) return;
  const auto kills = capture.all<tracer::OomKill>();
  REQUIRE(kills.size() == 3);
  for (const auto& kill : kills) check_kill(kill, *cgroup);
}

TEST_CASE("without the family nothing is said of memory that ran out" * doctest::test_suite("waits")) {
  const auto cgroup = limited_memory();
  if (!cgroup) return;
  tracer::SessionOptions options;
  options.families = {tracer::Family::kWaits};
  const Capture capture = trace(truth::call("end_in_cgroup", {"1", cgroup->procs(), "exceed"}), options);
  CHECK(capture.all<tracer::OomKill>().empty());
  for (const auto& exit : capture.all<tracer::ProcessExit>()) CHECK_FALSE(exit.oom_killed.has_value());
}
