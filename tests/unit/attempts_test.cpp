// SPDX-License-Identifier: Apache-2.0
/// A task that an engine tries several times inside one process.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "collect.hpp"

using namespace tracer;
using collect::all_of;
using wire::Who;

namespace {

const std::vector<std::string> kSolver = {"/opt/cbc", "/tmp/4922ab9b-pulp.mps", "-max", "-sec", "10", "-threads", "2"};

/// Snakemake's own process of a job, which tries it, in a run of Snakemake.
class TriedJob {
 public:
  explicit TriedJob(const std::string& attempt = "1") {
    begin(run_, "/usr/bin/python3", {"python3", "/usr/bin/snakemake", "--cores", "2"});
    begin(job_, "/usr/bin/python3",
          {"python3", "-m", "snakemake", "--target-jobs", "stats:sample=S1", "--attempt", attempt});
  }

  void plan() { run("/opt/cbc", kSolver); }
  /// A command by snakemake's shell().
  std::uint32_t shell(const std::string& command, std::uint32_t status = 0) {
    return run("/usr/bin/bash", {"/usr/bin/bash", "-c", "set -euo pipefail;  " + command}, status);
  }
  std::uint32_t run(const std::string& exe, std::vector<std::string> argv, std::uint32_t status = 0) {
    const Who who = wire::child_of(job_, ++last_pid_, ++now_ns_);
    begin(who, exe, std::move(argv));
    end(who, status);
    return who.pid;
  }
  /// A worker that executes nothing.
  std::uint32_t fork_only() {
    const Who who = wire::child_of(job_, ++last_pid_, ++now_ns_);
    stages_.push(wire::start_record(who));
    end(who, 0);
    return who.pid;
  }
  void end_job(std::uint32_t status = 0) { end(job_, status); }
  void end_run() { end(run_, 0); }

  std::optional<std::uint32_t> attempt_of(std::uint32_t pid) const { return context_of(pid)->attempt; }
  std::shared_ptr<const Context> context_of(std::uint32_t pid) const {
    for (const ProcessExit& exit : stages_.all<ProcessExit>())
      if (exit.process->pid == pid) return exit.process->context;
    return nullptr;
  }
  std::vector<TaskFinish> finishes() const { return stages_.all<TaskFinish>(); }
  std::vector<TaskStart> starts() const { return stages_.all<TaskStart>(); }
  RunFinish run_finish() const { return stages_.last<RunFinish>(); }

 private:
  void begin(const Who& who, const std::string& exe, std::vector<std::string> argv) {
    stages_.push(wire::start_record(who));
    wire::Exec exec;
    exec.time_ns = ++now_ns_;
    exec.program_start_ns = who.start_ns;
    exec.exe = exe;
    exec.argv = std::move(argv);
    stages_.push(wire::exec_record(who, exec));
  }
  void end(const Who& who, std::uint32_t status) {
    stages_.push(
        wire::exit_record(who, {.time_ns = ++now_ns_, .program_start_ns = who.start_ns + 1, .exit_code = status << 8}));
  }

  std::uint64_t now_ns_ = 10'000;
  std::uint32_t last_pid_ = 200;
  const Who run_ = {.pid = 100, .start_ns = 1000, .comm = "python3"};
  const Who job_ = wire::child_of(run_, 101, 2000);
  collect::Stages stages_;
};

}  // namespace

TEST_CASE("each try that the engine plans is an attempt with a key of its own, whatever has failed in the one before") {
  TriedJob job;
  job.run("/usr/bin/uname", {"uname", "-p"});
  job.plan();
  // Python raises an error after it.
  const auto first = job.run("/usr/bin/md5sum", {"md5sum", "a"});
  job.plan();
  const auto second = job.run("/usr/bin/md5sum", {"md5sum", "a"}, 1);
  const auto also_second = job.run("/usr/bin/sort", {"sort", "a"});
  job.plan();
  const auto third = job.shell("sort a");
  job.end_job();
  job.end_run();
  CHECK(job.attempt_of(first) == 1u);
  CHECK(job.attempt_of(second) == 2u);
  CHECK(job.attempt_of(also_second) == 2u);
  CHECK(job.attempt_of(third) == 3u);
  CHECK(job.context_of(third)->step == "stats");
  CHECK(job.context_of(third)->task_id == job.context_of(first)->task_id);
  CHECK(job.context_of(second)->task_key == job.context_of(also_second)->task_key);
  CHECK(job.context_of(first)->task_key != job.context_of(second)->task_key);
  CHECK(job.context_of(second)->task_key != job.context_of(third)->task_key);
  CHECK(job.starts().size() == 3);
  const auto finishes = job.finishes();
  REQUIRE(finishes.size() == 3);
  std::vector<std::uint32_t> attempts;
  for (const TaskFinish& finish : finishes) attempts.push_back(finish.context->attempt.value_or(0));
  CHECK(attempts == std::vector<std::uint32_t>{2, 3, 1});
  CHECK_FALSE(finishes[0].exit_code.has_value());
  CHECK(finishes[1].exit_code == 0);
  CHECK_FALSE(finishes[2].exit_code.has_value());
  CHECK(finishes[0].totals.processes == 3);
  CHECK(job.run_finish().tasks == 3);
  CHECK(job.run_finish().failed_tasks == 2);
}

TEST_CASE("a command that a job goes on after is no attempt, where the engine was seen to plan its tries") {
  TriedJob job;
  job.plan();
  job.shell("grep x a", 1);
  const auto instead = job.shell("touch a");
  job.end_job();
  CHECK(job.attempt_of(instead) == 1u);
  REQUIRE(job.finishes().size() == 1);
  CHECK(job.finishes()[0].exit_code == 0);
}

TEST_CASE("where no plan was seen, a command after one that has failed is the next attempt") {
  TriedJob job("2");
  const auto first = job.shell("false", 3);
  const auto second = job.shell("true");
  const auto more = job.run("/usr/bin/sort", {"sort", "a"});
  job.end_job();
  CHECK(job.attempt_of(first) == 2u);
  CHECK(job.attempt_of(second) == 3u);
  CHECK(job.attempt_of(more) == 3u);
  const auto finishes = job.finishes();
  REQUIRE(finishes.size() == 2);
  CHECK(finishes[0].context->attempt == 3u);
  CHECK(finishes[0].exit_code == 0);
  CHECK(finishes[1].context->attempt == 2u);
  CHECK(finishes[1].exit_code == 3);
}

TEST_CASE("an attempt in which Python works alone counts; its workers that execute nothing are in it") {
  TriedJob job;
  job.plan();
  job.plan();
  job.plan();
  const auto worker = job.fork_only();
  job.end_job(1);
  CHECK(job.attempt_of(worker) == 3u);
  CHECK(job.finishes().size() == 3);
  for (const TaskFinish& finish : job.finishes())
    CHECK(finish.exit_code == (finish.context->attempt == 3u ? std::optional(1) : std::nullopt));
}
