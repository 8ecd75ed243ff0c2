// SPDX-License-Identifier: Apache-2.0
/// What becomes of processes in containers' cgroups and of the removals of these, and which runtime a cgroup belongs
/// to.
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <tracer/event.hpp>

#include "collect.hpp"
#include "correlate/cgroup_table.hpp"
#include "correlate/joins/containers.hpp"
#include "rules/container_rules.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;
using wire::Who;

namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kScope = "/machine.slice/libpod-" + kId + ".scope";
constexpr std::uint64_t kSecond = 1'000'000'000;

std::string with_id(std::string path, const std::string& id = kId) {
  for (std::size_t at = 0; (at = path.find("{id}", at)) != std::string::npos;) path.replace(at, 4, id);
  return path;
}

std::string id_of(std::uint64_t number) { return fmt::format("{:064x}", number); }

Who in_cgroup_of(std::uint32_t pid, std::uint64_t cgroup_id) {
  return {.pid = pid, .start_ns = pid * 100ull, .cgroup_id = cgroup_id, .comm = "sh"};
}

/// The container's cgroup is 50, of which 51 is below; 40 is that of conmon, and 60 no container's.
struct Machine : Stages {
  Machine() {
    push(wire::cgroup_record(40, "/machine.slice/libpod-conmon-" + kId + ".scope"));
    push(wire::cgroup_record(50, kScope));
    push(wire::cgroup_record(51, kScope + "/container"));
    push(wire::cgroup_record(60, "/system.slice/cron.service"));
  }
};

void end(Stages& stages, const Who& who, std::uint64_t time_ns, bool oom_killed = false) {
  wire::Exit exit{.time_ns = time_ns, .program_start_ns = who.start_ns};
  if (oom_killed) exit.exit_code = SIGKILL;
  if (oom_killed) exit.flags = TRACER_FLAG_SENT_BY_KERNEL | TRACER_FLAG_OOM_KILLED;
  stages.push(wire::exit_record(who, exit));
}

}  // namespace

TEST_CASE("a container begins after its first process, and is finished when its cgroup is removed") {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Machine s;
  const Who first = in_cgroup_of(9, 50);
  const Who second = in_cgroup_of(10, 50);
  s.push(wire::start_record(first, 0, 901));
  REQUIRE(s.events.size() == 2);
  CHECK(s.events[0].kind() == EventKind::kProcessStart);
  const auto start = s.last<ContainerStart>();
  CHECK(start.time_ns == 901);
  CHECK(start.process->pid == 9);
  CHECK(start.process->cgroup->container_id == kId);
  CHECK(start.runtime == "podman");
  s.push(wire::start_record(second));
  end(s, second, 2000, true);
  end(s, first, 3000);
  CHECK(s.all<ContainerFinish>().empty());
  s.push(wire::cgroup_end_record(60, 3500, 1));
  s.push(wire::cgroup_end_record(50, 4000, 7));
  CHECK(s.all<ContainerStart>().size() == 1);
  REQUIRE(s.all<ContainerFinish>().size() == 1);
  const auto finish = s.last<ContainerFinish>();
  CHECK(finish.time_ns == 4000);
  CHECK(finish.process->pid == 9);
  CHECK(finish.runtime == "podman");
  CHECK(finish.begin_ns == 901);
  CHECK(finish.end_ns == 3000);
  CHECK(finish.processes == 2);
  CHECK(finish.oom_kills == 1);
  CHECK(finish.peak_bytes == 7 * page);
}

TEST_CASE("where it is not known of one process whether memory had run out, their number is not known") {
  Machine s;
  std::vector<Event> ended;
  SUBCASE("without the family memory") { s.correlator.stop(Family::kMemory, 0, ended); }
  SUBCASE("nobody saw who killed it") {}
  const Who killed = in_cgroup_of(9, 50);
  const Who other = in_cgroup_of(10, 50);
  s.push(wire::start_record(killed));
  s.push(wire::start_record(other));
  s.push(wire::exit_record(killed, {.time_ns = 2000, .program_start_ns = 900, .exit_code = SIGKILL}));
  end(s, other, 2500);
  s.push(wire::cgroup_end_record(50, 3000, 1));
  CHECK(s.last<ContainerFinish>().processes == 2);
  CHECK_FALSE(s.last<ContainerFinish>().oom_kills.has_value());
}

TEST_CASE("a process that was moved into a container is in it from its next exec, or at its exit") {
  Machine s;
  Who who = in_cgroup_of(9, 60);
  s.push(wire::start_record(who));
  CHECK(s.all<ContainerStart>().empty());
  SUBCASE("exec") {
    who.cgroup_id = 51;
    s.push(wire::exec_record(who, {.time_ns = 1500, .program_start_ns = 900}));
    CHECK(s.last<ContainerStart>().time_ns == 1500);
    CHECK(s.last<ContainerStart>().process->program->tool == "samtools sort");
    CHECK(s.events.back().kind() == EventKind::kProcessExec);
  }
  SUBCASE("exit") { who.cgroup_id = 51; }
  end(s, who, 2000);
  CHECK(s.all<ContainerStart>().size() == 1);
  s.push(wire::cgroup_end_record(51, 3000));
  const auto finish = s.last<ContainerFinish>();
  CHECK(finish.processes == 1);
  CHECK(finish.end_ns == 2000);
  CHECK_FALSE(finish.peak_bytes.has_value());
}

TEST_CASE("a process that has left a container does not end in it") {
  Machine s;
  Who who = in_cgroup_of(9, 50);
  s.push(wire::start_record(who));
  who.cgroup_id = 60;
  s.push(wire::exec_record(who, {.time_ns = 1500, .program_start_ns = 900}));
  s.push(wire::cgroup_end_record(50, 3000, 1));
  const auto finish = s.last<ContainerFinish>();
  CHECK(finish.processes == 0);
  CHECK_FALSE(finish.end_ns.has_value());
}

TEST_CASE("a container is one, whatever cgroups are below it: the topmost tells its end and peak") {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Machine s;
  const Who below = in_cgroup_of(9, 51);
  const Who above = in_cgroup_of(10, 50);
  for (const bool below_first : {true, false}) s.push(wire::start_record(below_first ? below : above));
  end(s, below, 2000);
  end(s, above, 2500);
  s.push(wire::cgroup_end_record(51, 3000, 1));
  CHECK(s.all<ContainerFinish>().empty());
  s.push(wire::cgroup_end_record(50, 4000, 9));
  CHECK(s.all<ContainerStart>().size() == 1);
  REQUIRE(s.all<ContainerFinish>().size() == 1);
  CHECK(s.last<ContainerFinish>().processes == 2);
  CHECK(s.last<ContainerFinish>().peak_bytes == 9 * page);
}

TEST_CASE("of two cgroups beside each other the peaks don't add up to one") {
  Machine s;
  s.push(wire::cgroup_record(52, kScope + "/other"));
  for (const std::uint32_t pid : {9u, 10u}) {
    const Who who = in_cgroup_of(pid, pid == 9 ? 51 : 52);
    s.push(wire::start_record(who));
    end(s, who, 2000 + pid);
  }
  s.push(wire::cgroup_end_record(52, 3000, 1));
  CHECK(s.all<ContainerFinish>().empty());
  s.push(wire::cgroup_end_record(51, 4000, 1));
  CHECK(s.last<ContainerFinish>().processes == 2);
  CHECK_FALSE(s.last<ContainerFinish>().peak_bytes.has_value());
}

TEST_CASE("the removal may overtake the last exit, which counts all the same") {
  Machine s;
  const Who who = in_cgroup_of(9, 50);
  s.push(wire::start_record(who));
  s.push(wire::cgroup_end_record(50, 2000, 7));
  CHECK(s.all<ContainerFinish>().empty());
  end(s, who, 2001);
  REQUIRE(s.all<ContainerFinish>().size() == 1);
  const auto finish = s.last<ContainerFinish>();
  CHECK(finish.time_ns == 2000);
  CHECK(finish.end_ns == 2001);
  CHECK(finish.processes == 1);
  CHECK(s.all<ContainerStart>().size() == 1);
}

TEST_CASE("who was moved out of a container unseen does not hold up its finish") {
  Machine s;
  const Who who = in_cgroup_of(9, 50);
  s.push(wire::start_record(who));
  s.push(wire::cgroup_end_record(50, 2000, 7));
  SUBCASE("later") {
    s.push(wire::start_record({.pid = 11, .start_ns = 3000 + kSecond, .cgroup_id = 60}, 0, 3000 + kSecond));
  }
  SUBCASE("at the end of the session") { s.correlator.end(3000, s.events); }
  SUBCASE("forgotten") {
    s.push(wire::start_record(who, TRACER_FLAG_EXCLUDED, 2500));
    s.push(wire::start_record({.pid = 11, .start_ns = 2600, .cgroup_id = 60}, 0, 2600));
  }
  REQUIRE(s.all<ContainerFinish>().size() == 1);
  CHECK(s.last<ContainerFinish>().processes == 0);
}

TEST_CASE("a container that begins again with the same id is another") {
  Machine s;
  s.push(wire::cgroup_record(70, kScope));
  for (const std::uint64_t cgroup_id : {50u, 70u}) {
    const Who who = in_cgroup_of(static_cast<std::uint32_t>(cgroup_id), cgroup_id);
    s.push(wire::start_record(who));
    end(s, who, 10'000 + cgroup_id);
    s.push(wire::cgroup_end_record(cgroup_id, 20'000 + cgroup_id, 1));
  }
  CHECK(s.all<ContainerStart>().size() == 2);
  REQUIRE(s.all<ContainerFinish>().size() == 2);
  CHECK(s.last<ContainerFinish>().process->pid == 70);
  CHECK(s.last<ContainerFinish>().processes == 1);
}

TEST_CASE("a runtime's own processes are in no container, though their cgroup is named after one") {
  Machine s;
  const Who conmon = in_cgroup_of(8, 40);
  s.push(wire::start_record(conmon));
  CHECK(s.all<ContainerStart>().empty());
  s.push(wire::start_record(in_cgroup_of(9, 50)));
  CHECK(s.last<ContainerStart>().process->pid == 9);
  end(s, in_cgroup_of(9, 50), 2000);
  end(s, conmon, 2500);
  s.push(wire::cgroup_end_record(40, 2600, 1));
  s.push(wire::cgroup_end_record(50, 3000, 1));
  CHECK(s.last<ContainerFinish>().processes == 1);
}

TEST_CASE("a container of a runtime that nobody knows has no runtime; what has no id is none") {
  Stages s;
  s.push(wire::cgroup_record(50, "/somewhere/" + kId));
  s.push(wire::cgroup_record(60, "/slurm/uid_1000/job_7/step_0"));
  s.push(wire::start_record(in_cgroup_of(9, 60)));
  CHECK(s.all<ContainerStart>().empty());
  s.push(wire::start_record(in_cgroup_of(10, 50)));
  CHECK_FALSE(s.last<ContainerStart>().runtime.has_value());
}

TEST_CASE("a hierarchy's numbers are its own") {
  Stages s;
  s.push(wire::cgroup_record(50, "/docker/" + kId, false, TRACER_HIERARCHY_V1_MEMORY));
  Who who = in_cgroup_of(9, 50);
  who.hierarchy = TRACER_HIERARCHY_V1_MEMORY;
  s.push(wire::start_record(who));
  end(s, who, 2000);
  s.push(wire::cgroup_end_record(50, 3000, 1, TRACER_HIERARCHY_V1_PIDS));
  CHECK(s.all<ContainerFinish>().empty());
  s.push(wire::cgroup_end_record(50, 3000, 1, TRACER_HIERARCHY_V1_MEMORY));
  CHECK(s.last<ContainerFinish>().runtime == "docker");
}

TEST_CASE("who has too many containers loses the oldest, and nobody else does") {
  constexpr std::uint64_t kMany = ContainersJoin::kMostBytes / 2048;
  Stages s({}, false, 100'000);
  const auto run_one = [&s](std::uint64_t i, std::uint32_t uid) {
    Who who = in_cgroup_of(static_cast<std::uint32_t>(i + 1), 1000 + i);
    who.uid = uid;
    s.push(wire::cgroup_record(1000 + i, "/docker/" + id_of(i)));
    s.push(wire::start_record(who));
    end(s, who, who.start_ns + 10);
  };
  run_one(0, 1000);
  for (std::uint64_t i = 1; i <= kMany; ++i) run_one(i, 1001);
  CHECK(s.all<ContainerStart>().size() == kMany + 1);
  for (std::uint64_t i = 0; i <= kMany; ++i) s.push(wire::cgroup_end_record(1000 + i, 1'000'000, 1));
  const auto finishes = s.all<ContainerFinish>();
  REQUIRE(finishes.size() < kMany);
  REQUIRE(finishes.size() > kMany / 2);
  CHECK(finishes.front().process->cgroup->container_id == id_of(0));
  CHECK(finishes[1].process->cgroup->container_id != id_of(1));
  CHECK(finishes.back().process->cgroup->container_id == id_of(kMany));
}

TEST_CASE("cgroups of one container beyond those that are kept are not missed") {
  constexpr std::uint64_t kMost = ContainersJoin::kMostCgroupsOfContainer;
  Stages s({}, false, 100'000);
  for (std::uint64_t i = 0; i < 2 * kMost; ++i) {
    s.push(wire::cgroup_record(1000 + i, fmt::format("/docker/{}/{}", kId, i)));
    const Who who = in_cgroup_of(static_cast<std::uint32_t>(i + 1), 1000 + i);
    s.push(wire::start_record(who));
    end(s, who, who.start_ns + 10);
  }
  for (std::uint64_t i = 0; i < 2 * kMost; ++i) s.push(wire::cgroup_end_record(1000 + i, 1'000'000, 1));
  CHECK(s.all<ContainerStart>().size() == 1);
  REQUIRE(s.all<ContainerFinish>().size() == 1);
  CHECK(s.last<ContainerFinish>().processes == 2 * kMost);
}

TEST_CASE("without the family nothing is reported of containers") {
  Machine s;
  std::vector<Event> ended;
  s.correlator.stop(Family::kContainers, 0, ended);
  s.push(wire::start_record(in_cgroup_of(9, 50)));
  s.push(wire::cgroup_end_record(50, 3000, 1));
  CHECK(s.all<ContainerStart>().empty());
  CHECK(s.all<ContainerFinish>().empty());
}

TEST_CASE("a filtered process is in no container") {
  Stages s(Filter().include_tool("bwa*"));
  s.push(wire::cgroup_record(50, kScope));
  s.push(wire::start_record(in_cgroup_of(9, 50)));
  end(s, in_cgroup_of(9, 50), 2000);
  s.push(wire::cgroup_end_record(50, 3000, 1));
  CHECK(s.all<ContainerStart>().empty());
  CHECK(s.all<ContainerFinish>().empty());
}

TEST_CASE("the examples of rules/containers.toml") {
  REQUIRE(ContainerRules::builtin().examples().size() > 10);
  for (const ContainerExample& example : ContainerRules::builtin().examples()) {
    CAPTURE(example.path);
    const std::string path = with_id(example.path);
    REQUIRE(container_id_of(path) == kId);
    const auto place = ContainerRules::builtin().place_of(path, kId);
    REQUIRE(place.has_value());
    CHECK(place->runtime == example.place.runtime);
    CHECK(place->monitor == example.place.monitor);
  }
}

TEST_CASE("a rule's components are the last ones, whole, up to the id's") {
  const ContainerRules& rules = ContainerRules::builtin();
  const std::string outer = id_of(1);
  CHECK(rules.place_of("/docker/" + outer + "/docker/" + kId, kId)->runtime == "docker");
  CHECK(rules.place_of("/docker/" + outer + "/kubepods/besteffort/pod7/" + kId, kId)->runtime == "kubernetes");
  CHECK(container_cgroup(kScope + "/a/b", kId) == kScope);
  CHECK(container_cgroup("/docker/" + outer + "/docker/" + kId, kId) == "/docker/" + outer + "/docker/" + kId);
  for (const std::string& path :
       {"/mydocker/" + kId, "/docker/x/" + kId, "/xlibpod-" + kId + ".scope", "/libpod-" + kId + ".scopes",
        "/kubepods/" + kId, kId, std::string(), std::string("/")})
    CHECK_FALSE(rules.place_of(path, kId).has_value());
}

TEST_CASE("mistakes in rules on containers are told with their lines") {
  try {
    ContainerRules::parse("schema = 1\n[[runtime]]\ncontainers = [\"docker\", \"/{id}\", \"{id}/a\", \"{id}-{id}\"]\n",
                          "x.toml");
    FAIL("no mistake");
  } catch (const Error& error) {
    // With the name and the test, which are missing.
    CHECK(error.problems().size() == 6);
    CHECK(std::string(error.what()).find("x.toml:3") != std::string::npos);
  }
}
