// SPDX-License-Identifier: Apache-2.0
#include "correlate/cgroup_table.hpp"

#include <doctest/doctest.h>

#include "collect.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kOther = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

}  // namespace

TEST_CASE("each container runtime's cgroup gives the container's id") {
  for (const std::string& path : {
           "/docker/" + kId,
           "/system.slice/docker-" + kId + ".scope",
           "/machine.slice/libpod-" + kId + ".scope",
           "/machine.slice/libpod-" + kId + ".scope/container",
           "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope/container",
           "/kubepods/burstable/pod0a1b2c3d-0000-1111-2222-333344445555/" + kId,
           "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0a1b.slice/cri-containerd-" + kId +
               ".scope",
           "/kubepods.slice/kubepods-pod0a1b.slice/crio-" + kId + ".scope",
           "/kubepods.slice/kubepods-pod0a1b.slice/crio-" + kId + ".scope/container",
           "/ecs/5f0ac6ffb7a94d0b8a1f8c4e8d7b6a59/" + kId,
           "/docker/" + kId + "/system.slice/cron.service",
       }) {
    CAPTURE(path);
    CHECK(container_id_of(path) == kId);
  }
}

TEST_CASE("of nested containers the innermost counts") {
  CHECK(container_id_of("/docker/" + kOther + "/docker/" + kId) == kId);
}

TEST_CASE("what only resembles a container's id is none") {
  for (const std::string& path : {
           std::string(),
           std::string("/"),
           std::string("/user.slice/user-1000.slice/session-3.scope"),
           "/docker/" + kId.substr(1),
           "/docker/" + kId + "0",
           "/docker/x" + kId,
           "/docker/" + kId.substr(1) + "G",
           "/docker/A" + kId.substr(1),
           std::string("/docker/0123456789ab"),
           std::string("/kubepods/pod0a1b2c3d-0000-1111-2222-333344445555"),
           "/" + kId + ".service",
       }) {
    CAPTURE(path);
    CHECK_FALSE(container_id_of(path).has_value());
  }
}

TEST_CASE("a cgroup is found by hierarchy and id, and all who are in it share one part") {
  CgroupTable table;
  table.set(Hierarchy::kV2, 5, "/two");
  const auto memory = table.set(Hierarchy::kV1Memory, 5, "/docker/" + kId);
  CHECK(table.part(Hierarchy::kV2, 5)->path == "/two");
  CHECK(table.part(Hierarchy::kV1Memory, 5) == memory);
  CHECK(memory->container_id == kId);
  CHECK(memory->hierarchy == "memory");
  const auto unknown = table.part(Hierarchy::kV1Pids, 5);
  CHECK_FALSE(unknown->path.has_value());
  CHECK(unknown->id == 5);
  table.set(Hierarchy::kV2, 5, "/renamed");
  CHECK(table.part(Hierarchy::kV2, 5)->path == "/renamed");
}

TEST_CASE("when room is needed, cgroups of living processes keep their names; only others are forgotten") {
  CgroupTable table({}, 1000);
  std::vector<std::shared_ptr<const Cgroup>> held;
  for (std::uint64_t id = 0; id < 50; ++id) held.push_back(table.set(Hierarchy::kV2, id, "/held"));
  for (std::uint64_t id = 1000; id < 3000; ++id) table.set(Hierarchy::kV2, id, "/gone");
  for (std::uint64_t id = 0; id < 50; ++id) CHECK(table.part(Hierarchy::kV2, id)->path == "/held");
  CHECK(table.forgotten() == 0);
  CHECK_FALSE(table.part(Hierarchy::kV2, 1000)->path.has_value());
  CHECK(table.forgotten() == 1);
}

TEST_CASE("a cgroup that was forgotten is looked up when it comes again") {
  struct Host final : HostQuestions {
    std::optional<std::uint64_t> pss_bytes(std::uint32_t, std::uint64_t) override { return {}; }
    std::optional<std::string> cgroup_path(Hierarchy, std::uint64_t id) const override {
      ++asked;
      if (id == 7) return "/found";
      return std::nullopt;
    }
    mutable std::uint64_t asked = 0;
  };
  Host host;
  CgroupTable table(&host, 10);
  CHECK(table.part(Hierarchy::kV2, 7)->path == "/found");
  CHECK(table.part(Hierarchy::kV2, 7)->path == "/found");
  CHECK(host.asked == 1);
}

TEST_CASE("a process is told its cgroup, hierarchy and container") {
  collect::Stages stages;
  stages.push(wire::cgroup_record(50, "/docker/" + kId, false, TRACER_HIERARCHY_V1_MEMORY));
  stages.push(wire::start_record({.pid = 9, .start_ns = 1, .cgroup_id = 50, .hierarchy = TRACER_HIERARCHY_V1_MEMORY}));
  const auto process = stages.last<ProcessStart>().process;
  CHECK(process->cgroup->path == "/docker/" + kId);
  CHECK(process->cgroup->id == 50);
  CHECK(process->cgroup->hierarchy == "memory");
  CHECK(process->cgroup->container_id == kId);
}

TEST_CASE("a process that moved to an unknown cgroup has no path, rather than the old one") {
  collect::Stages stages;
  const wire::Who who{.pid = 9, .start_ns = 1, .cgroup_id = 50};
  wire::Who moved = who;
  moved.cgroup_id = 51;
  stages.push(wire::cgroup_record(50, "/docker/" + kId));
  stages.push(wire::start_record(who));
  stages.push(wire::exec_record(moved, {.time_ns = 2, .program_start_ns = 1}));
  const auto process = stages.last<ProcessExec>().process;
  CHECK(process->cgroup->id == 51);
  CHECK_FALSE(process->cgroup->path.has_value());
  CHECK_FALSE(process->cgroup->container_id.has_value());
  stages.push(wire::cgroup_record(52, "/back"));
  moved.cgroup_id = 52;
  stages.push(wire::exit_record(moved, {.time_ns = 3, .program_start_ns = 2}));
  CHECK(stages.last<ProcessExit>().process->cgroup->path == "/back");
}
