// SPDX-License-Identifier: Apache-2.0
#include "correlate/replay_filter.hpp"

#include <doctest/doctest.h>

#include "builders.hpp"
#include "collect.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::shared_ptr<const Process> process(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t parent,
                                       std::uint64_t parent_start, std::string exe) {
  build::ProcessSpec spec{.pid = pid, .start_ns = start_ns, .uid = 1000};
  if (parent != 0) {
    spec.parent_pid = parent;
    spec.parent_start_ns = parent_start;
  }
  spec.tool = exe.substr(exe.rfind('/') + 1);
  spec.argv = {{exe, "-x"}};
  spec.exe = std::move(exe);
  return build::process(std::move(spec));
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

class Replay {
 public:
  explicit Replay(const Filter& filter, std::size_t max_processes = 100)
      : filter_(FilterEvaluator(filter, false), max_processes) {}
  std::vector<Event> apply(Event event) {
    std::vector<Event> events;
    filter_.apply(std::move(event), events);
    return events;
  }
  bool keeps(Event event) { return !apply(std::move(event)).empty(); }
  ReplayFilter& operator*() { return filter_; }

 private:
  ReplayFilter filter_;
};

const auto kBash = process(1, 10, 0, 0, "/bin/bash");
const auto kFork = process(2, 20, 1, 10, "/bin/bash");
const auto kBwa = process(2, 20, 1, 10, "/usr/bin/bwa");
const auto kWorker = process(3, 30, 2, 20, "/usr/bin/bwa");
const auto kOther = process(4, 40, 1, 10, "/bin/cat");

}  // namespace

TEST_CASE("a replay without rules keeps everything") {
  Replay filter{Filter()};
  for (const Event& event : {start(kBash), exec(kBwa), exit(kBwa), Event(Loss{}), Event(SessionEnd{}),
                             Event(ToolSample{}), Event(CgroupSample{})})
    CHECK(filter.keeps(event));
}

TEST_CASE("a replay keeps an included program and its descendants") {
  Replay filter(Filter().include_exe("bwa"));
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
  Replay filter(Filter().exclude_tool("bwa"));
  CHECK(filter.keeps(start(kBash)));
  CHECK_FALSE(filter.keeps(exec(kBwa)));
  CHECK_FALSE(filter.keeps(start(kWorker)));
  CHECK_FALSE(filter.keeps(exit(kBwa)));
  CHECK(filter.keeps(start(kOther)));
}

TEST_CASE("a replay keeps a tree, a user and an argument") {
  Replay tree(Filter().include_tree(2));
  CHECK_FALSE(tree.keeps(start(kBash)));
  CHECK(tree.keeps(start(kFork)));
  CHECK(tree.keeps(start(kWorker)));
  CHECK_FALSE(tree.keeps(start(kOther)));
  CHECK(Replay(Filter().include_uid(1000)).keeps(start(kBash)));
  CHECK_FALSE(Replay(Filter().include_uid(1)).keeps(start(kBash)));
  CHECK(Replay(Filter().include_argument("-x")).keeps(start(kBash)));
}

TEST_CASE("in a replay a pid that comes back is another process") {
  Replay filter(Filter().include_exe("bwa"));
  CHECK(filter.keeps(exec(kBwa)));
  CHECK_FALSE(filter.keeps(start(process(2, 99, 0, 0, "/bin/cat"))));
}

TEST_CASE("in a replay a process whose start is not known is filtered, too") {
  CHECK_FALSE(Replay(Filter().include_exe("bwa")).keeps(start(process(9, 0, 0, 0, "/bin/cat"))));
}

TEST_CASE("losses and the session's end pass every filter") {
  Replay filter(Filter().include_uid(1));
  CHECK(filter.keeps(Loss{}));
  CHECK(filter.keeps(SessionEnd{}));
}

TEST_CASE("with any rule a replay drops sums over processes, as they can't be taken apart") {
  for (const Filter& rule : {Filter().include_exe("bwa"), Filter().exclude_tool("bwa"), Filter().include_uid(1000),
                             Filter().exclude_uid(1)}) {
    Replay filter(rule);
    CHECK_FALSE(filter.keeps(ToolSample{}));
    CHECK_FALSE(filter.keeps(CgroupSample{}));
  }
}

TEST_CASE("a replayed process has the labels of the rule that takes it in, and so have its descendants") {
  Replay replay(Filter().include_tree(2, {.step = "align"}));
  for (const Event& event : {start(kFork), start(kWorker)}) {
    const auto kept = replay.apply(event);
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].get_if<ProcessStart>()->process->context->step == "align");
    CHECK(kept[0].get_if<ProcessStart>()->process->program == event.get_if<ProcessStart>()->process->program);
  }
}

TEST_CASE("a replay remembers a bounded number of processes, and says how many it forgot") {
  Replay replay(Filter().include_exe("sh"), 10);
  for (std::uint32_t pid = 1; pid <= 25; ++pid) replay.keeps(start(process(pid, pid, 0, 0, "/bin/sh")));
  CHECK((*replay).forgotten() == 20);
}

TEST_CASE("a replay of a tree keeps the runs and tasks that begin in it, whenever their first process is told") {
  Replay filter(Filter().include_tree(2));
  const auto task = [](std::uint32_t pid, std::uint64_t start_ns, std::uint64_t key) {
    TaskStart begins;
    begins.pid = pid;
    begins.start_ns = start_ns;
    begins.context = std::make_shared<const Context>(Context{.task_id = "1", .task_key = Key{key}});
    return begins;
  };
  const auto finish = [](const TaskStart& begins) {
    TaskFinish ends;
    ends.context = begins.context;
    return ends;
  };
  // What lives is told with the task first.
  CHECK_FALSE(filter.keeps(task(2, 20, 7)));
  const auto kept = filter.apply(start(kFork));
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].kind() == EventKind::kTaskStart);
  CHECK(filter.keeps(task(3, 30, 8)) == false);
  CHECK(filter.apply(start(kWorker)).size() == 2);
  CHECK(filter.keeps(finish(task(2, 20, 7))));
  // It begins with work of a process that lives.
  CHECK(filter.keeps(task(2, 25, 11)));
  CHECK(filter.keeps(finish(task(2, 25, 11))));
  CHECK_FALSE(filter.keeps(task(4, 40, 9)));
  CHECK_FALSE(filter.keeps(start(kOther)));
  CHECK_FALSE(filter.keeps(finish(task(4, 40, 9))));
  ContextChange change;
  change.before = task(2, 20, 7).context;
  change.after = task(2, 20, 10).context;
  CHECK(filter.keeps(change));
  CHECK(filter.keeps(finish(task(2, 20, 10))));
  change.before = task(4, 40, 9).context;
  CHECK_FALSE(filter.keeps(change));
}

TEST_CASE("sums of a task are not kept where a rule may leave out some of its processes") {
  Replay filter(Filter().include_tree(2).exclude_tool("cat"));
  TaskStart begins;
  begins.pid = 2;
  begins.start_ns = 20;
  filter.apply(start(kFork));
  CHECK_FALSE(filter.keeps(begins));
}

TEST_CASE("a replay keeps samples of the cgroups of what it keeps") {
  Replay filter(Filter().include_tree(2));
  build::ProcessSpec spec{.pid = 2, .start_ns = 20};
  spec.cgroup.id = 77;
  filter.apply(start(build::process(spec)));
  CgroupSample sample;
  sample.cgroup = std::make_shared<const Cgroup>(Cgroup{.id = 77});
  CHECK(filter.keeps(sample));
  sample.cgroup = std::make_shared<const Cgroup>(Cgroup{.id = 78});
  CHECK_FALSE(filter.keeps(sample));
}

TEST_CASE("a tree that is named later is taken in with what lives below it") {
  Replay filter(Filter().include_tree(99));
  for (const auto& each : {kBash, kFork, kWorker, kOther}) CHECK_FALSE(filter.keeps(start(each)));
  std::vector<Event> taken;
  (*filter).follow(2, 50, taken);
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].get_if<ProcessStart>()->process->pid == 2);
  CHECK(taken[0].get_if<ProcessStart>()->attached_ns == 50);
  CHECK(taken[1].get_if<ProcessStart>()->process->pid == 3);
  CHECK(filter.keeps(exit(kWorker)));
  CHECK_FALSE(filter.keeps(exit(kOther)));
  (*filter).follow(500, 60, taken);
  CHECK(taken.size() == 2);
  CHECK(filter.keeps(start(process(500, 70, 0, 0, "/bin/sh"))));
}

TEST_CASE("a replay goes on from what another has decided") {
  const auto task = [](std::uint32_t pid, std::uint64_t start_ns, std::uint64_t key) {
    TaskStart begins;
    begins.pid = pid;
    begins.start_ns = start_ns;
    begins.context = std::make_shared<const Context>(Context{.task_id = "1", .task_key = Key{key}});
    return begins;
  };
  const Filter rules = Filter().include_tree(2);
  Replay first(rules);
  first.apply(start(kBash));
  first.apply(task(2, 20, 7));
  first.apply(start(kFork));
  first.apply(start(kWorker));
  // Nothing is left that says whose child it is.
  first.apply(exit(kFork));
  const auto decided = (*first).decided();
  ReplayFilter next(FilterEvaluator(rules, false), 100, decided);
  ReplayFilter copy(next);
  for (ReplayFilter* filter : {&next, &copy}) {
    CHECK(filter->has_taken(start(kWorker)));
    CHECK(filter->has_taken(task(2, 20, 7)));
    CHECK_FALSE(filter->has_taken(task(2, 20, 8)));
    CHECK_FALSE(filter->has_taken(start(kBash)));
    CHECK_FALSE(filter->has_taken(start(kOther)));
    std::vector<Event> kept;
    filter->apply(exit(kWorker), kept);
    filter->apply(start(kOther), kept);
    filter->apply(exit(kBash), kept);
    CHECK(collect::kinds_of(kept) == std::vector{EventKind::kProcessExit});
  }
}

TEST_CASE("what is not to be followed any more is known before") {
  Replay tree(Filter().include_tree(2));
  tree.apply(start(kBash));
  tree.apply(start(kFork));
  CHECK((*tree).follows(2));
  CHECK_FALSE((*tree).follows(1));
  CHECK((*Replay(Filter().exclude_tool("x"))).follows(1));
}

TEST_CASE("in a replay, what a process executes may exclude it: its beginning comes with its exec or end") {
  Replay filter(Filter().include_tree(1).exclude_tool("bwa"));
  CHECK(filter.keeps(start(kBash)));
  CHECK_FALSE(filter.keeps(start(kFork)));
  CHECK_FALSE((*filter).has_taken(start(kFork)));
  CHECK_FALSE(filter.keeps(exec(kBwa)));
  CHECK_FALSE(filter.keeps(exit(kBwa)));
  const auto other = process(5, 50, 1, 10, "/bin/bash");
  const auto cat = process(5, 50, 1, 10, "/bin/cat");
  CHECK_FALSE(filter.keeps(start(other)));
  CHECK(collect::kinds_of(filter.apply(exec(cat))) == std::vector{EventKind::kProcessStart, EventKind::kProcessExec});
  CHECK((*filter).has_taken(start(other)));
  CHECK(filter.apply(exit(cat)).size() == 1);
  // A subshell executes nothing.
  CHECK_FALSE(filter.keeps(start(other)));
  CHECK(collect::kinds_of(filter.apply(exit(other))) == std::vector{EventKind::kProcessStart, EventKind::kProcessExit});
  // One that lived before is not waited for.
  CHECK(filter.keeps(ProcessStart{60, process(6, 60, 1, 10, "/bin/bash"), 60}));
  CHECK(filter.keeps(start(kOther)));
}

TEST_CASE("in a replay, the beginning of a process comes with the exec that takes it in") {
  Replay filter(Filter().include_exe("bwa"));
  filter.apply(start(kBash));
  filter.apply(start(kFork));
  CHECK_FALSE(filter.keeps(exec(process(2, 20, 1, 10, "/bin/cat"))));
  CHECK(collect::kinds_of(filter.apply(exec(kBwa))) == std::vector{EventKind::kProcessStart, EventKind::kProcessExec});
  CHECK(filter.apply(exec(kBwa)).size() == 1);
}
