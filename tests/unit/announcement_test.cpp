// SPDX-License-Identifier: Apache-2.0
#include "announced_run.hpp"

#include <optional>

#include <tracer/error.hpp>

using namespace tracer;
using namespace tracer::announced_run;

TEST_CASE("what is announced of a folder before is known of whatever executes there, and below") {
  Announced run;
  Requested requested;
  requested.millicpus = 2000;
  requested.tag = "S1";
  run.say(InWorkDir{"/data/ab/"}, task_named("ALIGN (S1)"), requested);
  run.start(kShell);
  run.exec(kShell, "/launch", {"bash"});
  run.start(kChild);
  run.exec(kChild, "/data/ab", {"bash", "task.sh"});
  run.start(kInner);
  run.exec(kInner, "/data/ab/tmp");
  run.exit(kInner, 3010);
  run.exit(kChild, 2010, 3);
  run.exit(kShell, 1010);
  CHECK_FALSE(run.context_at_exit(100)->task.has_value());
  for (const std::uint32_t pid : {101u, 102u}) {
    const auto context = run.context_at_exit(pid);
    CHECK(context->task == "ALIGN (S1)");
    CHECK(context->pipeline == "rnaseq");
    CHECK(context->run == "r1");
    CHECK(context->provenance.task == Provenance::kAnnounced);
    CHECK(context->provenance.run == Provenance::kAnnounced);
  }
  const auto starts = all_of<TaskStart>(run.events);
  REQUIRE(starts.size() == 1);
  CHECK(starts[0].pid == 101);
  CHECK(starts[0].requested == requested);
  const auto finishes = all_of<TaskFinish>(run.events);
  REQUIRE(finishes.size() == 1);
  CHECK(finishes[0].totals.processes == 2);
  CHECK(finishes[0].exit_code == 3);
  CHECK(finishes[0].requested == requested);
  CHECK(all_of<RunStart>(run.events).size() == 1);
  REQUIRE(all_of<RunFinish>(run.events).size() == 1);
  CHECK(all_of<RunFinish>(run.events)[0].tasks == 1);
  CHECK(all_of<RunFinish>(run.events)[0].failed_tasks == 1);
  CHECK(run.session->statistics().announcements_met == 1);
}

TEST_CASE("a folder whose name only begins the same is another") {
  Announced run;
  run.say(InWorkDir{"/data/ab"}, task_named("A"));
  run.start(kShell);
  run.exec(kShell, "/data/abc");
  run.exit(kShell, 1010);
  CHECK(*run.context_at_exit(100) == Context());
  CHECK(run.session->statistics().announcements_met == 0);
}

TEST_CASE("what is announced late is said again of what lives, and of what began before") {
  Announced run;
  run.start(kShell);
  run.exec(kShell, "/launch", {"bash"});
  run.start(kChild);
  run.exec(kChild, "/data/ab", {"bash", "task.sh"});
  run.start(kInner);
  run.exec(kInner, "/elsewhere");
  run.drain();
  SUBCASE("by its folder") { run.say(InWorkDir{"/data/ab"}, task_named("LATE")); }
  SUBCASE("by its pid") { run.say(OfProcess{101, 2000}, task_named("LATE")); }
  SUBCASE("by its arguments") { run.say(BelowProcess{{100, 1000}, {"bash", "task.*"}}, task_named("LATE")); }
  run.exit(kInner, 3010);
  run.exit(kChild, 2010);
  run.exit(kShell, 1010);
  CHECK(run.context_at_exit(102)->task == "LATE");
  CHECK(run.context_at_exit(101)->task == "LATE");
  CHECK_FALSE(run.context_at_exit(100)->task.has_value());
  const auto changes = all_of<ContextChange>(run.events);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].pid == 102u);
  CHECK(changes[1].pid == 101u);
  for (const ContextChange& change : changes) {
    CHECK(*change.before == Context());
    CHECK(change.after->task == "LATE");
  }
  CHECK(all_of<TaskStart>(run.events).size() == 1);
  REQUIRE(all_of<TaskFinish>(run.events).size() == 1);
  CHECK(all_of<TaskFinish>(run.events)[0].totals.processes == 2);
}

TEST_CASE("a copy of the named process runs its program as well, and is below it") {
  Announced run;
  run.say(BelowProcess{{100, 1000}, {"server", "..."}}, task_named("SERVE"));
  run.start(kShell);
  run.exec(kShell, "/launch", {"server", "--workers"});
  run.start(kChild);
  run.exit(kChild, 2000);
  CHECK(run.context_at_exit(101)->task == "SERVE");
  run.exit(kShell, 1010);
  CHECK_FALSE(run.context_at_exit(100)->task.has_value());
}

TEST_CASE("another process that has the pid is not meant") {
  Announced run;
  run.say(OfProcess{100, 999}, task_named("A"));
  run.start(kShell);
  run.exec(kShell, "/data");
  run.exit(kShell, 1010);
  CHECK(*run.context_at_exit(100) == Context());
}

TEST_CASE("of two announcements of one task the later wins, and the other is kept") {
  Announced run;
  run.say(InWorkDir{"/data/ab"}, task_named("FIRST"));
  run.start(kShell);
  run.exec(kShell, "/data/ab");
  run.drain();
  Context second;
  second.task = "SECOND";
  second.sample = "S1";
  run.say(InWorkDir{"/data/ab"}, second);
  run.exit(kShell, 1010);
  const auto context = run.context_at_exit(100);
  CHECK(context->task == "SECOND");
  CHECK(context->sample == "S1");
  CHECK(context->run == "r1");
  REQUIRE_FALSE(context->overruled.empty());
  CHECK(context->overruled[0] == Overruled{"task", "FIRST", Provenance::kAnnounced});
  CHECK(all_of<ContextChange>(run.events).size() == 1);
  CHECK(all_of<TaskStart>(run.events).size() == 1);
}

TEST_CASE("what is announced wins over what a rule has found, and the rule's task stays one") {
  Announced run;
  const std::string folder = "/w/work/ab/0123456789abcdef0123456789abcd";
  SUBCASE("before") { run.say(InWorkDir{folder}, task_named("QC (S1)")); }
  run.start(kShell);
  run.exec(kShell, folder, {"bash", "-ue", ".command.run"});
  run.drain();
  SUBCASE("after") { run.say(InWorkDir{folder}, task_named("QC (S1)")); }
  run.exit(kShell, 1010);
  const auto context = run.context_at_exit(100);
  CHECK(context->task == "QC (S1)");
  CHECK(context->provenance.task == Provenance::kAnnounced);
  CHECK(context->task_id == "ab/0123456789abcdef0123456789abcd");
  CHECK(context->provenance.task_id == Provenance::kEngineRule);
  CHECK(context->engine == "nextflow");
  CHECK(context->run == "r1");
  CHECK(all_of<TaskStart>(run.events).size() == 1);
  CHECK(all_of<TaskFinish>(run.events).size() == 1);
}

TEST_CASE("tasks of one run that was only announced are in one run") {
  Announced run;
  run.say(InWorkDir{"/data/a"}, task_named("A"));
  run.say(InWorkDir{"/data/b"}, task_named("B"));
  const Who other{.pid = 200, .start_ns = 5000};
  run.start(kShell);
  run.start(other);
  run.exec(kShell, "/data/a");
  run.exec(other, "/data/b");
  run.exit(kShell, 1010);
  run.exit(other, 5010, 1);
  run.drain();
  CHECK(all_of<RunStart>(run.events).size() == 1);
  CHECK(all_of<TaskFinish>(run.events).size() == 2);
  REQUIRE_FALSE(all_of<RunFinish>(run.events).empty());
  CHECK(all_of<RunFinish>(run.events).back().tasks == 2);
  CHECK(all_of<RunFinish>(run.events).back().failed_tasks == 1);
  CHECK(run.context_at_exit(100)->run_id == run.context_at_exit(200)->run_id);
}

TEST_CASE("a run that is announced of a process is the run that a rule finds there") {
  Announced run;
  Context context;
  context.run = "happy";
  run.start(kShell);
  run.exec(kShell, "/data", {"java", "-jar", "nextflow.jar", "run", "main.nf"});
  run.start(kChild);
  run.exec(kChild, "/data/work/ab/0123456789abcdef0123456789abcd", {"bash", "-ue", ".command.run"});
  run.drain();
  run.say(OfProcess{100, 1000}, context);
  run.exit(kChild, 2010);
  run.exit(kShell, 1010);
  CHECK(run.context_at_exit(101)->run == "happy");
  CHECK(run.context_at_exit(101)->pipeline == "main.nf");
  CHECK(run.context_at_exit(101)->task_id == "ab/0123456789abcdef0123456789abcd");
  CHECK(all_of<RunStart>(run.events).size() == 1);
  CHECK(all_of<TaskStart>(run.events).size() == 1);
}

TEST_CASE("a task that is announced around a run that lives holds that, with what it has done") {
  Announced run;
  run.start(kShell);
  run.exec(kShell, "/outer", {"bash", "all.sh"});
  run.start(kChild);
  run.exec(kChild, "/inner", {"java", "-jar", "nextflow.jar", "run", "main.nf"});
  run.start(kInner);
  run.exec(kInner, "/inner/work/ab/0123456789abcdef0123456789abcd", {"bash", "-ue", ".command.run"});
  run.exit(kInner, 3010);
  run.drain();
  run.say(OfProcess{100, 1000}, task_named("OUTER"));
  run.exit(kChild, 2010);
  run.exit(kShell, 1010);
  const auto context = run.context_at_exit(101);
  CHECK(context->pipeline == "main.nf");
  REQUIRE(context->within.has_value());
  for (const TaskFinish& finish : all_of<TaskFinish>(run.events))
    if (finish.context->task == "OUTER") CHECK(finish.totals.processes == 3);
}

TEST_CASE("commands one after the other in one announced folder are one task, and so are tasks of one run") {
  Announced run;
  run.say(InWorkDir{"/data/a"}, task_named("A"));
  run.say(InWorkDir{"/data/b"}, task_named("B"));
  for (const auto& [pid, folder] : {std::pair{300u, "/data/a"}, {301u, "/data/a"}, {302u, "/data/b"}}) {
    const Who who{.pid = pid, .start_ns = pid * 10ull};
    run.start(who);
    run.exec(who, folder);
    run.exit(who, pid * 10ull + 10);
    run.drain();
  }
  CHECK(all_of<RunStart>(run.events).size() == 1);
  CHECK(all_of<TaskStart>(run.events).size() == 2);
  const auto finishes = all_of<TaskFinish>(run.events);
  REQUIRE(finishes.size() == 3);
  CHECK(finishes[1].context->task == "A");
  CHECK(finishes[1].totals.processes == 2);
  CHECK(all_of<RunFinish>(run.events).back().tasks == 2);
  CHECK(all_of<RunFinish>(run.events).back().totals.processes == 3);
}

TEST_CASE("tasks of two runs in one notebook keep their runs, and the notebook its name") {
  Announced run;
  run.start(kShell);
  run.exec(kShell, "/data", {"python3", "-m", "ipykernel_launcher", "-f", "/r/kernel-5e.json"});
  for (const auto& [pid, name] : {std::pair{300u, "r1"}, {301u, "r2"}}) {
    const Who who = wire::child_of(kShell, pid, pid * 10ull);
    Context context = task_named(std::string("T") + name);
    context.run = name;
    run.say(InWorkDir{std::string("/data/") + name}, context);
    run.start(who);
    run.exec(who, std::string("/data/") + name);
  }
  for (const std::uint32_t pid : {300u, 301u}) run.exit(wire::child_of(kShell, pid, pid * 10ull), pid * 10ull + 10);
  run.exit(kShell, 1010);
  CHECK(run.context_at_exit(300)->run == "r1");
  CHECK(run.context_at_exit(301)->run == "r2");
  CHECK(run.context_at_exit(100)->run == "5e");
}

TEST_CASE("a job that is announced late holds all of its steps, each counted once") {
  Announced run;
  run.push(wire::cgroup_record(5, "/slurm_n/uid_0/job_12/step_batch"));
  run.push(wire::cgroup_record(6, "/slurm_n/uid_0/job_12/step_0"));
  Who batch{.pid = 300, .start_ns = 3000, .cgroup_id = 5};
  Who step{.pid = 301, .start_ns = 4000, .cgroup_id = 6};
  run.start(batch);
  run.exec(batch, "/data", {"bash", "job.sh"});
  run.start(step);
  run.exec(step, "/data");
  run.drain();
  run.say(InSlurmJob{"12"}, task_named("JOB"));
  // As a snapshot visits them.
  run.push(wire::thread_record(step, {.tid = 301}));
  run.push(wire::thread_record(batch, {.tid = 300}));
  run.exit(step, 4010);
  run.exit(batch, 3010);
  run.drain();
  std::size_t jobs = 0;
  for (const TaskFinish& finish : all_of<TaskFinish>(run.events)) {
    if (finish.context->task != "JOB" || finish.context->task_id == "12.0" || finish.context->task_id == "12.batch")
      continue;
    ++jobs;
    CHECK(finish.totals.processes == 2);
  }
  CHECK(jobs == 1);
  REQUIRE(all_of<RunFinish>(run.events).size() == 1);
  CHECK(all_of<RunFinish>(run.events)[0].totals.processes == 2);
  CHECK(all_of<RunStart>(run.events).size() == 1);
}

TEST_CASE("what contradicts itself ends all the same") {
  Announced run;
  run.start(kShell);
  run.exec(kShell, "/launch", {"bash"});
  run.start(kChild);
  run.exec(kChild, "/data/d");
  run.drain();
  Context inner = task_named("T2");
  inner.run = "r42";
  run.say(InWorkDir{"/data/d"}, inner);
  Context main;
  main.task = "main";
  run.say(OfProcess{100, 1000}, main);
  run.push(wire::thread_record(kChild, {.tid = 101}));
  run.drain();
  main.run = "r42";
  run.say(OfProcess{100, 1000}, main);
  run.exit(kChild, 2010);
  run.exit(kShell, 1010);
  run.drain();
  CHECK(all_of<ProcessExit>(run.events).size() == 2);
}

TEST_CASE("a launcher in an announced task is a tool of the task, and so is what it starts") {
  Announced run;
  run.say(InWorkDir{"/data/a"}, task_named("A"));
  run.start(kShell);
  run.exec(kShell, "/data/a", {"xargs", "gzip"});
  run.start(kChild);
  run.exec(kChild, "/data/a", {"gzip", "x"});
  run.exit(kChild, 2010);
  run.exit(kShell, 1010);
  CHECK(run.context_at_exit(101)->task == "A");
  CHECK_FALSE(run.context_at_exit(100)->engine_own);
  CHECK(all_of<TaskStart>(run.events).size() == 1);
}

TEST_CASE("a process that another takes the pid of, its end lost, has left its task") {
  Announced run;
  run.say(InWorkDir{"/data/a"}, task_named("A"));
  run.start(kShell);
  run.exec(kShell, "/data/a");
  run.start(Who{.pid = 100, .start_ns = 9000});
  run.drain();
  REQUIRE(all_of<TaskFinish>(run.events).size() == 1);
  CHECK_FALSE(all_of<TaskFinish>(run.events)[0].exit_code.has_value());
}

TEST_CASE("processes that begin each other forever are no chain without an end") {
  Announced run;
  run.say(InWorkDir{"/data/a"}, task_named("A"));
  Who parent{.pid = 1000, .start_ns = 1000};
  run.start(parent);
  for (std::uint32_t n = 1; n < 100'000; ++n) {
    const Who child = wire::child_of(parent, 1000 + n % 3, 1000 + n);
    run.start(child);
    if (n > 1) {
      const Who before{.pid = 1000 + (n - 2) % 3, .start_ns = 1000 + n - 2};
      run.exit(before, before.start_ns);
    }
    if (n % 1000 == 0) run.drain();
    parent = child;
  }
  run.exec(parent, "/data/a");
  run.drain();
  CHECK(all_of<TaskStart>(run.events).size() == 1);
}
