// SPDX-License-Identifier: Apache-2.0
/// The command that a session follows is a run.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "context/context_resolver.hpp"
#include "context/layers.hpp"
#include "context/pool_name.hpp"
#include "rules/tool_rules.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint32_t kCommand = 100;

/// Processes below a command, which was held before its exec.
class Below {
 public:
  struct One {
    std::shared_ptr<const Process> process;
    ContextPlace place;
  };

  Below() {
    resolver_.add_command(kCommand);
    command_ = {process_of(kCommand, "/usr/bin/tracerd", {"tracerd", "run"}), {}};
    resolver_.executes(command_.place, command_.process, ContextResolver::Runs::kTakenIn);
  }

  One& command() { return command_; }
  One fork(One& parent) {
    One child{process_of(++last_pid_, *parent.process->program->exe, *parent.process->program->argv), {}};
    child.place = resolver_.child_of(parent.place, parent.process);
    return child;
  }
  void exec(One& one, std::string exe, std::vector<std::string> argv, std::string cwd = "/w") {
    auto process = process_of(one.process->pid, std::move(exe), std::move(argv), std::move(cwd));
    auto named = std::make_shared<Process>(*process);
    named->program = named_by_pool(ToolRules::builtin(), one.place, process->program);
    one.process = std::move(named);
    resolver_.executes(one.place, one.process);
  }
  /// Its words are those of its parent.
  void meet(One& one, ContextResolver::Runs runs) { resolver_.executes(one.place, one.process, runs); }
  Context context(One& one) { return *resolver_.context_of(one.place, *one.process); }
  void label(One& one, Context labels) {
    stamp(labels, Provenance::kLabel);
    resolver_.label(one.place, std::make_shared<const Context>(std::move(labels)), *one.process);
  }

 private:
  static std::shared_ptr<const Process> process_of(std::uint32_t pid, std::string exe, std::vector<std::string> argv,
                                                   std::string cwd = "/w") {
    auto program = std::make_shared<Program>();
    program->tool = ToolRules::builtin().name(exe, argv, "");
    program->exe = std::move(exe);
    program->argv = std::move(argv);
    program->cwd = std::move(cwd);
    auto process = std::make_shared<Process>();
    process->pid = pid;
    process->start_ns = pid;
    process->program = std::move(program);
    return process;
  }

  ContextResolver resolver_{
      std::shared_ptr<const EngineRules>(std::shared_ptr<const EngineRules>(), &EngineRules::builtin()),
      std::shared_ptr<const ToolRules>(std::shared_ptr<const ToolRules>(), &ToolRules::builtin()),
      {},
      1,
      internal::KeyOrigin()};
  One command_;
  std::uint32_t last_pid_ = kCommand;
};

}  // namespace

TEST_CASE("a command is a run with the name of its tool, and the jobs that it starts are tasks") {
  Below below;
  CHECK_FALSE(below.context(below.command()).run.has_value());
  below.exec(below.command(), "/usr/bin/make", {"make", "-j4"});
  const Context run = below.context(below.command());
  CHECK(run.run == "make");
  CHECK(run.provenance.run == Provenance::kInferred);
  CHECK(run.engine == "make");
  CHECK(run.engine_own);
  CHECK_FALSE(run.task_id.has_value());
  auto job = below.fork(below.command());
  below.exec(job, "/bin/sh", {"/bin/sh", "-c", "sort a > b"});
  const Context task = below.context(job);
  CHECK(task.run == "make");
  CHECK(task.run_id == run.run_id);
  CHECK(task.task == "sort a > b");
  CHECK_FALSE(task.engine_own);
}

TEST_CASE("a command that names a task is in it, and the task is in the run") {
  Below below;
  below.exec(below.command(), "/usr/bin/tracerd", {"tracerd", "task", "--step", "align", "--", "bwa", "mem"});
  below.exec(below.command(), "/usr/bin/bwa", {"bwa", "mem"});
  const Context task = below.context(below.command());
  CHECK(task.step == "align");
  CHECK(task.task_key.has_value());
  CHECK(task.run == "tracerd");
  CHECK(task.run_key.has_value());
  CHECK_FALSE(task.engine_own);
  auto child = below.fork(below.command());
  below.exec(child, "/usr/bin/sort", {"sort"});
  CHECK(below.context(child).task_key == task.task_key);
}

TEST_CASE("the own work of launchers in a script is theirs, and so is what they start for themselves") {
  Below below;
  below.exec(below.command(), "/usr/bin/bash", {"bash", "all.sh"});
  auto parallel = below.fork(below.command());
  below.exec(parallel, "/usr/bin/perl", {"perl", "/usr/bin/parallel", "gzip"});
  auto probe = below.fork(parallel);
  below.exec(probe, "/usr/bin/sleep", {"sleep", "10101"});
  auto xargs = below.fork(below.command());
  below.exec(xargs, "/usr/bin/xargs", {"xargs", "gzip"});
  for (const auto& [one, engine] : {std::pair{&parallel, "parallel"}, {&probe, "parallel"}, {&xargs, "xargs"}}) {
    const Context own = below.context(*one);
    CHECK(own.engine_own);
    CHECK(own.engine == engine);
    CHECK(own.run == "all.sh");
  }
  CHECK_FALSE(below.context(below.command()).engine.has_value());
}

TEST_CASE("an engine's run is that of the command which it is, or becomes") {
  const std::vector<std::string> snakemake = {"python3", "/usr/bin/snakemake", "-c1"};
  Below direct;
  direct.exec(direct.command(), "/usr/bin/python3", snakemake);
  Below becomes;
  becomes.exec(becomes.command(), "/usr/bin/bash", {"bash", "start.sh"});
  CHECK(becomes.context(becomes.command()).run == "start.sh");
  const auto run_id = becomes.context(becomes.command()).run_id;
  becomes.exec(becomes.command(), "/usr/bin/python3", snakemake);
  CHECK(becomes.context(becomes.command()).run_id == run_id);
  for (Below* below : {&direct, &becomes}) {
    const Context run = below->context(below->command());
    CHECK(run.engine == "snakemake");
    CHECK(run.pipeline == "Snakefile");
    CHECK_FALSE(run.run.has_value());
    CHECK(run.engine_own);
    CHECK_FALSE(run.task_id.has_value());
    CHECK_FALSE(run.step.has_value());
  }
}

TEST_CASE("an engine's run below a command does not have the command's name") {
  Below below;
  below.exec(below.command(), "/usr/bin/bash", {"bash", "all.sh"});
  auto engine = below.fork(below.command());
  below.exec(engine, "/usr/bin/python3", {"python3", "/usr/bin/snakemake", "-c1"});
  const Context run = below.context(engine);
  CHECK(run.pipeline == "Snakefile");
  CHECK_FALSE(run.run.has_value());
  CHECK(run.run_id != below.context(below.command()).run_id);
}

TEST_CASE("a shell that only becomes another program gives no name") {
  Below at_once;
  at_once.exec(at_once.command(), "/usr/bin/bash", {"bash", "-c", "exec sort x"});
  at_once.exec(at_once.command(), "/usr/bin/sort", {"sort", "x"});
  CHECK(at_once.context(at_once.command()).run == "sort");
  Below later;
  later.exec(later.command(), "/usr/bin/bash", {"bash", "-c", "make; sort x"});
  later.fork(later.command());
  later.exec(later.command(), "/usr/bin/sort", {"sort", "x"});
  CHECK(later.context(later.command()).run == "bash -c");
}

TEST_CASE("labels of a run win over the command's name") {
  Below below;
  below.label(below.command(), {.run = "r1"});
  below.exec(below.command(), "/usr/bin/make", {"make"});
  CHECK(below.context(below.command()).run == "r1");
  CHECK(below.context(below.command()).provenance.run == Provenance::kLabel);
  Below sample;
  sample.label(sample.command(), {.sample = "S1"});
  sample.exec(sample.command(), "/usr/bin/make", {"make"});
  CHECK(sample.context(sample.command()).run == "make");
  CHECK(sample.context(sample.command()).sample == "S1");
}

TEST_CASE("a worker of a pool is named as the process that began the pool") {
  const std::string kSpawn = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)";
  Below below;
  below.exec(below.command(), "/usr/bin/bash", {"bash", "all.sh"});
  auto script = below.fork(below.command());
  below.exec(script, "/usr/bin/python3", {"python3", "analysis.py"});
  auto worker = below.fork(script);
  below.exec(worker, "/usr/bin/python3", {"python3", "-c", kSpawn});
  CHECK(worker.process->program->tool == "analysis.py");
  auto inner = below.fork(worker);
  below.exec(inner, "/usr/bin/python3", {"python3", "-c", kSpawn});
  CHECK(inner.process->program->tool == "analysis.py");
  // R starts its workers by a shell, which may have ended by then.
  auto shell = below.fork(script);
  below.exec(shell, "/bin/sh", {"sh", "-c", "Rscript … &"});
  auto r = below.fork(shell);
  below.exec(r, "/usr/lib/R/bin/Rscript", {"Rscript", "-e", "workRSOCK <- parallel:::.workRSOCK; workRSOCK()"});
  CHECK(r.process->program->tool == "analysis.py");
  auto none = below.fork(script);
  below.exec(none, "/usr/bin/python3", {"python3", "-c", "print(1)"});
  CHECK(none.process->program->tool == "python -c");
}

TEST_CASE("who began a pool is looked for among a few ancestors only") {
  Below below;
  below.exec(below.command(), "/usr/bin/python3", {"python3", "analysis.py"});
  std::vector<Below::One> shells = {below.fork(below.command())};
  for (int n = 0; n < 20; ++n) {
    below.exec(shells.back(), "/bin/sh", {"sh", "-c", "x"});
    shells.push_back(below.fork(shells.back()));
  }
  below.exec(shells.back(), "/usr/bin/python3",
             {"python3", "-c", "from multiprocessing.forkserver import main; main(1)"});
  CHECK(shells.back().process->program->tool == "python (pool worker)");
}

TEST_CASE("the folder of an array of Nextflow's jobs is no task: it turns out to be the one that begins in it") {
  Below below;
  below.exec(below.command(), "/bin/bash", {"bash", "node.sh"});
  const std::string array = "/w/work/aa/0123456789abcdef0123456789abcd";
  const auto begin = [&](std::vector<Below::One>& processes, const std::string& id) {
    processes.push_back(below.fork(below.command()));
    below.exec(processes.back(), "/bin/bash", {"bash", ".command.run"}, array);
    CHECK(below.context(processes.back()).task_id == "aa/0123456789abcdef0123456789abcd");
    processes.push_back(below.fork(processes.back()));
    below.exec(processes.back(), "/bin/bash", {"/bin/bash", "-ue", array + "/.command.sh"}, array);
    processes.push_back(below.fork(processes.back()));
    below.exec(processes.back(), "/bin/bash", {"bash", "/w/work/" + id + "/.command.run"}, array);
  };
  const std::string first = "bb/1123456789abcdef0123456789abcd";
  const std::string second = "cc/1123456789abcdef0123456789abcd";
  std::vector<Below::One> one, two;
  begin(one, first);
  for (Below::One& each : one) CHECK(below.context(each).task_id == first);
  CHECK(below.context(one[0]).overruled.empty());
  begin(two, second);
  for (Below::One& each : two) CHECK(below.context(each).task_id == second);
  // Two that share the folder's wrapper lie side by side.
  auto beside = below.fork(one[1]);
  below.exec(beside, "/bin/bash", {"bash", "/w/work/dd/1123456789abcdef0123456789abcd/.command.run"}, array);
  CHECK(below.context(beside).task_id == "dd/1123456789abcdef0123456789abcd");
  CHECK(below.context(one[0]).task_id == first);
}

TEST_CASE("a copy of a shell that was met before its exec is no script that a script started") {
  Below below;
  below.exec(below.command(), "/bin/bash", {"bash", "plain.sh"});
  auto copy = below.fork(below.command());
  below.meet(copy, ContextResolver::Runs::kCopy);
  CHECK_FALSE(below.context(copy).task_id.has_value());
  auto script = below.fork(copy);
  below.exec(script, "/bin/bash", {"bash", "align.sh"});
  CHECK(below.context(script).task == "align.sh");
  // Whoever has executed the same is one.
  auto again = below.fork(below.command());
  below.meet(again, ContextResolver::Runs::kTakenIn);
  CHECK(below.context(again).task == "plain.sh");
}
