// SPDX-License-Identifier: Apache-2.0
#include "correlate/replay_filter.hpp"

#include <doctest/doctest.h>

#include "collect.hpp"

using namespace tracer;

namespace {

std::shared_ptr<const Process> process(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t parent,
                                       std::uint64_t parent_start, std::string exe) {
  Process p;
  p.pid = pid;
  p.start_ns = start_ns;
  if (parent != 0) {
    p.parent_pid = parent;
    p.parent_start_ns = parent_start;
  }
  p.uid = 1000;
  p.exe = exe;
  p.tool = exe.substr(exe.rfind('/') + 1);
  p.argv = {{exe, "-x"}};
  return std::make_shared<const Process>(std::move(p));
}

Event start(const std::shared_ptr<const Process>& p) { return ProcessStart{p->start_ns, p, {}}; }
Event exec(const std::shared_ptr<const Process>& p) {
  ProcessExec event;
  event.process = p;
  return event;
}
Event exit(const std::shared_ptr<const Process>& p) {
  ProcessExit event;
  event.process = p;
  event.start_ns = p->start_ns;
  return event;
}

ReplayFilter of(const Filter& filter) { return ReplayFilter(FilterEvaluator(filter, false)); }

const auto kBash = process(1, 10, 0, 0, "/bin/bash");
const auto kFork = process(2, 20, 1, 10, "/bin/bash");
const auto kBwa = process(2, 20, 1, 10, "/usr/bin/bwa");
const auto kWorker = process(3, 30, 2, 20, "/usr/bin/bwa");
const auto kOther = process(4, 40, 1, 10, "/bin/cat");

}  // namespace

TEST_CASE("a replay without rules keeps everything") {
  ReplayFilter filter = of({});
  for (const Event& event : {start(kBash), exec(kBwa), exit(kBwa), Event(Loss{}), Event(SessionEnd{}),
                             Event(ToolSample{}), Event(CgroupSample{})})
    CHECK(filter.keeps(event));
}

TEST_CASE("a replay keeps an included program and its descendants") {
  ReplayFilter filter = of(Filter().include_exe("bwa"));
  CHECK_FALSE(filter.keeps(start(kBash)));
  CHECK_FALSE(filter.keeps(start(kFork)));
  CHECK(filter.keeps(exec(kBwa)));
  CHECK(filter.keeps(start(kWorker)));
  CHECK(filter.keeps(exit(kWorker)));
  CHECK(filter.keeps(exit(kBwa)));
  CHECK_FALSE(filter.keeps(start(kOther)));
  CHECK_FALSE(filter.keeps(exit(kBash)));
}

TEST_CASE("a replay drops an excluded program and its descendants from its exec on") {
  ReplayFilter filter = of(Filter().exclude_tool("bwa"));
  CHECK(filter.keeps(start(kBash)));
  CHECK_FALSE(filter.keeps(exec(kBwa)));
  CHECK_FALSE(filter.keeps(start(kWorker)));
  CHECK_FALSE(filter.keeps(exit(kBwa)));
  CHECK(filter.keeps(start(kOther)));
}

TEST_CASE("a replay keeps a tree, a user and an argument") {
  ReplayFilter tree = of(Filter().include_tree(2));
  CHECK_FALSE(tree.keeps(start(kBash)));
  CHECK(tree.keeps(start(kFork)));
  CHECK(tree.keeps(start(kWorker)));
  CHECK_FALSE(tree.keeps(start(kOther)));
  CHECK(of(Filter().include_uid(1000)).keeps(start(kBash)));
  CHECK_FALSE(of(Filter().include_uid(1)).keeps(start(kBash)));
  CHECK(of(Filter().include_argument("-x")).keeps(start(kBash)));
}

TEST_CASE("in a replay a pid that comes back is another process") {
  ReplayFilter filter = of(Filter().include_exe("bwa"));
  CHECK(filter.keeps(exec(kBwa)));
  CHECK_FALSE(filter.keeps(start(process(2, 99, 0, 0, "/bin/cat"))));
}

TEST_CASE("in a replay a process whose start is not known is filtered, too") {
  CHECK_FALSE(of(Filter().include_exe("bwa")).keeps(start(process(9, 0, 0, 0, "/bin/cat"))));
}

TEST_CASE("losses and the session's end pass every filter") {
  ReplayFilter filter = of(Filter().include_uid(1));
  CHECK(filter.keeps(Loss{1, "x", 2}));
  CHECK(filter.keeps(SessionEnd{}));
}

TEST_CASE("with any rule a replay drops sums over processes, as they can't be taken apart") {
  for (const Filter& rule : {Filter().include_exe("bwa"), Filter().exclude_tool("bwa"), Filter().include_uid(1000),
                             Filter().exclude_uid(1)}) {
    ReplayFilter filter = of(rule);
    CHECK_FALSE(filter.keeps(ToolSample{}));
    CHECK_FALSE(filter.keeps(CgroupSample{}));
  }
}
