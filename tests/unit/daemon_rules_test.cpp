// SPDX-License-Identifier: Apache-2.0
#include "rules/daemon_rules.hpp"

#include <doctest/doctest.h>

#include "report/sums/handed_over.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

Process process_of(std::vector<std::string> argv, std::string tool, std::string cgroup = "/user.slice") {
  Process process;
  process.program = std::make_shared<const Program>(Program{.argv = std::move(argv), .tool = std::move(tool)});
  process.cgroup = std::make_shared<const Cgroup>(Cgroup{.path = std::move(cgroup)});
  return process;
}

using Calls = std::map<std::string, std::uint64_t>;

}  // namespace

TEST_CASE("the examples of rules/daemons.toml") {
  REQUIRE(DaemonRules::builtin().size() > 5);
  for (const DaemonRule& rule : DaemonRules::builtin()) {
    CAPTURE(rule.name);
    for (const std::string& called : rule.example_clients) CHECK_MESSAGE(rule.is_client(called), called);
    for (const std::string& called : rule.example_others) CHECK_FALSE_MESSAGE(rule.is_client(called), called);
  }
}

TEST_CASE("work that was handed to a daemon counts until something of it is followed") {
  HandedOver handed;
  handed.saw(process_of({"/usr/bin/docker", "--debug", "run", "image"}, "docker"));
  handed.saw(process_of({"/bin/bash", "/opt/bin/docker", "run", "image"}, "docker"));
  handed.saw(process_of({"docker", "ps"}, "docker"));
  handed.saw(process_of({"systemd-run", "true"}, "systemd-run", "/system.slice/run-r1.service"));
  handed.saw(process_of({"true"}, "true", "/system.slice/run-r1.service"));
  CHECK(handed.calls() == Calls{{"docker", 2}, {"systemd-run", 1}});
  handed.saw(process_of({"sleep"}, "sleep", "/system.slice/docker-0a.scope"));
  handed.saw(process_of({"true"}, "true", "/system.slice/run-r2.service"));
  CHECK(handed.calls().empty());
}
