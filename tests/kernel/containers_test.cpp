// SPDX-License-Identifier: Apache-2.0
/// The family containers, against cgroups that are named as podman names them, and what the kernel says of their
/// memory.
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "storage.hpp"
#include "truth.hpp"
#include "truth_containers.hpp"

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr const char* kPodman = "libpod-{id}.scope";

/// In which containers are made; absent, and said: this machine has no such cgroup.
std::optional<LimitedCgroup> place_for_containers() {
  auto cgroup = LimitedCgroup::make("memory");
  if (cgroup && (cgroup->is_v1() || cgroup->limit("cgroup.subtree_control", "+memory"))) return cgroup;
  MESSAGE("SKIP: no memory controller here");
  return std::nullopt;
}

struct Lived {
  std::uint32_t pid = 0;
  int status = 0;
  std::uint64_t peak_bytes = 0;
};

struct Run {
  Capture capture;
  std::vector<Lived> lived;
};

Run live(const LimitedCgroup& cgroup, std::size_t count, const char* mib, const char* name,
         const std::string& limit = "0", const char* below = "", tracer::SessionOptions options = {}) {
  Run run;
  run.capture = trace(
      truth::call("live_in_containers", {cgroup.folder(), std::to_string(count), mib, limit, name, below}), options);
  REQUIRE(run.capture.status == 0);
  std::istringstream in(run.capture.output);
  for (Lived lived; in >> lived.pid >> lived.status >> lived.peak_bytes;) run.lived.push_back(lived);
  REQUIRE(run.lived.size() == count);
  CHECK_FALSE(run.capture.statistics.losses.contains("ring_full_cgroup_end"));
  return run;
}

std::map<std::string, tracer::ContainerStart> starts_by_id(const Capture& capture) {
  std::map<std::string, tracer::ContainerStart> starts;
  for (const auto& start : capture.all<tracer::ContainerStart>())
    CHECK(starts.emplace(start.process->cgroup->container_id.value_or(""), start).second);
  return starts;
}

std::map<std::string, tracer::ContainerFinish> finishes_by_id(const Capture& capture) {
  std::map<std::string, tracer::ContainerFinish> finishes;
  for (const auto& finish : capture.all<tracer::ContainerFinish>())
    CHECK(finishes.emplace(finish.process->cgroup->container_id.value_or(""), finish).second);
  return finishes;
}

std::optional<tracer::ProcessExit> exit_of(const Capture& capture, std::uint32_t pid) {
  for (const auto& exit : capture.all<tracer::ProcessExit>())
    if (exit.process->pid == pid) return exit;
  return std::nullopt;
}

/// Of 20 MiB that were touched in it.
void check_lives(const Run& run) {
  const auto starts = starts_by_id(run.capture);
  const auto finishes = finishes_by_id(run.capture);
  CHECK(starts.size() == run.lived.size());
  CHECK(finishes.size() == run.lived.size());
  for (std::size_t i = 0; i < run.lived.size(); ++i) {
    const std::string id = truth::container_id(i);
    CAPTURE(id);
    REQUIRE(starts.contains(id));
    REQUIRE(finishes.contains(id));
    const tracer::ContainerStart& start = starts.at(id);
    const tracer::ContainerFinish& finish = finishes.at(id);
    CHECK(start.process->pid == run.lived[i].pid);
    CHECK(start.runtime == "podman");
    CHECK(finish.process->pid == run.lived[i].pid);
    CHECK(finish.runtime == "podman");
    CHECK(finish.begin_ns == start.time_ns);
    CHECK(finish.processes == 1);
    const auto exit = exit_of(run.capture, run.lived[i].pid);
    REQUIRE(exit.has_value());
    CHECK(finish.end_ns == exit->end_ns);
    REQUIRE(finish.peak_bytes.has_value());
    CHECK(*finish.peak_bytes >= 20 * kMiB);
    CHECK(*finish.peak_bytes < 40 * kMiB);
    // Linux 5.10 has no file that says it.
    if (run.lived[i].peak_bytes != 0) CHECK(*finish.peak_bytes == run.lived[i].peak_bytes);
  }
}

}  // namespace

TEST_CASE("a container begins with its first process, and is finished with its cgroup: the peak is the kernel's" *
          doctest::test_suite("essential")) {
  const auto cgroup = place_for_containers();
  if (!cgroup) return;
  const Run run = live(*cgroup, 1, "20", kPodman);
  check_lives(run);
  CHECK(run.capture.all<tracer::ContainerFinish>().at(0).oom_kills.value_or(0) == 0);
}

TEST_CASE("what is in a cgroup below the container's is in the container" * doctest::test_suite("essential")) {
  const auto cgroup = place_for_containers();
  if (!cgroup) return;
  const Run run = live(*cgroup, 1, "20", kPodman, "0", "container");
  check_lives(run);
}

TEST_CASE("fifty containers at once have a start and a finish each" * doctest::test_suite("essential")) {
  const auto cgroup = place_for_containers();
  if (!cgroup) return;
  check_lives(live(*cgroup, 50, "20", kPodman));
}

TEST_CASE("a container's processes that were killed as its memory had run out are counted" *
          doctest::test_suite("essential")) {
  const auto cgroup = place_for_containers();
  if (!cgroup) return;
  const Run run = live(*cgroup, 3, "160", kPodman, std::to_string(48 * kMiB));
  const auto finishes = finishes_by_id(run.capture);
  CHECK(finishes.size() == run.lived.size());
  for (std::size_t i = 0; i < run.lived.size(); ++i) {
    CHECK(WIFSIGNALED(run.lived[i].status));
    CHECK(WTERMSIG(run.lived[i].status) == SIGKILL);
    const auto exit = exit_of(run.capture, run.lived[i].pid);
    REQUIRE(exit.has_value());
    const auto finish = finishes.at(truth::container_id(i));
    CHECK(finish.processes == 1);
    // Where the family memory is missing, nobody knows of it.
    CHECK(finish.oom_kills == (exit->oom_killed ? std::optional<std::uint64_t>(1) : std::nullopt));
    CHECK(finish.peak_bytes.value_or(0) <= 48 * kMiB);
    CHECK(finish.peak_bytes.value_or(0) >= 15 * kMiB);
  }
}

TEST_CASE("cgroups that are not named by a container's id, and a runtime's own, are no containers" *
          doctest::test_suite("essential")) {
  const auto cgroup = place_for_containers();
  if (!cgroup) return;
  for (const char* name : {"job_7", "libpod-conmon-{id}.scope"}) {
    CAPTURE(name);
    const Run run = live(*cgroup, 1, "20", name);
    CHECK(run.capture.all<tracer::ContainerStart>().empty());
    CHECK(run.capture.all<tracer::ContainerFinish>().empty());
  }
}

TEST_CASE("an announced folder is the one that it was, whatever its path leads to in another mount namespace" *
          doctest::test_suite("essential")) {
  std::string folder = (std::filesystem::temp_directory_path() / "tracer_folder_XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  folder = std::filesystem::canonical(folder).string();
  tracer::Announcement announcement;
  announcement.key = tracer::InWorkDir{folder};
  announcement.context.task = std::string("t");
  const auto task_in = [&](const std::string& kind) {
    const Capture capture = trace(truth::call("work_behind_mount", {folder, kind}), {}, {}, {announcement});
    REQUIRE(capture.status == 0);
    const tracer::ProcessExit exit = capture.exit();
    // Its path is equal in all of them.
    CHECK(exit.process->program->cwd == folder);
    return exit.process->context->task;
  };
  CHECK(task_in("none") == "t");
  CHECK(task_in("same") == "t");
  CHECK(task_in("other") == std::nullopt);
  std::filesystem::remove(folder);
}

TEST_CASE("without the family nothing is said of containers") {
  const auto cgroup = place_for_containers();
  if (!cgroup) return;
  tracer::SessionOptions options;
  options.families = {tracer::Family::kMemory};
  const Run run = live(*cgroup, 1, "20", kPodman, "0", "", options);
  CHECK(run.capture.all<tracer::ContainerStart>().empty());
  CHECK(run.capture.all<tracer::ContainerFinish>().empty());
}
