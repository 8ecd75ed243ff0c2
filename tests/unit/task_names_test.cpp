// SPDX-License-Identifier: Apache-2.0
#include "report/task_names.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "context/command_name.hpp"
#include "context/layers.hpp"
#include "context/task_name.hpp"
#include "report/sums/rows.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

Context made_up(std::string id, std::optional<std::string> step = {}, std::optional<std::string> task = {}) {
  Context context{.step = std::move(step), .task = std::move(task), .task_id = std::move(id)};
  context.provenance.task_id = Provenance::kInferred;
  return context;
}

Context given(std::string id, std::optional<std::string> step = {}, std::optional<std::string> task = {}) {
  Context context = made_up(std::move(id), std::move(step), std::move(task));
  context.provenance.task_id = Provenance::kEngineRule;
  return context;
}

ReportNode task_node(const Context& context, const std::string& tool, std::uint64_t start_ns) {
  ReportNode node;
  node.level = SummaryLevel::kTask;
  node.row.task = identity_of(context);
  node.row.first_start_ns = start_ns;
  if (tool.empty()) return node;
  node.below.emplace_back().row.name = tool;
  node.below.back().row.cpu_ns = Figure{5};
  return node;
}

std::vector<std::string> names_of(std::vector<ReportNode> nodes) {
  name_tasks(nodes);
  std::vector<std::string> names;
  for (const ReportNode& node : nodes) names.push_back(node.row.name);
  const std::vector<std::string> once = names;
  name_tasks(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(nodes[i].row.name == once[i]);
  return names;
}

using Names = std::vector<std::string>;

Program program_of(std::string tool, std::vector<std::string> argv) {
  Program program;
  program.tool = std::move(tool);
  program.argv = std::move(argv);
  return program;
}

}  // namespace

TEST_CASE("a task that nobody named is called by what it runs, never by an id") {
  CHECK(names_of({task_node(made_up("445-4932dd1b8984"), "gzip", 1), task_node(given("ab/0123"), "bwa mem", 2),
                  task_node(made_up("446-4932dd1b8984"), "", 3)}) == Names{"gzip", "bwa mem", "pid 446"});
}

TEST_CASE("tasks with equal names are told apart by their first process, or by their order") {
  CHECK(names_of({task_node(made_up("12-a", "md5", "md5 x"), "md5", 2),
                  task_node(made_up("11-b", "md5", "md5 x"), "md5", 1),
                  task_node(made_up("13-c", "md5", "md5 y"), "md5", 3)}) ==
        Names{"md5 x (pid 12)", "md5 x (pid 11)", "md5 y"});
  CHECK(names_of({task_node(given("ab/2", "COUNT", "COUNT"), "wc", 2),
                  task_node(given("ab/1", "COUNT", "COUNT"), "wc", 1)}) == Names{"COUNT #2", "COUNT #1"});
}

TEST_CASE("what a launcher has started is called by it and by what it runs; a script by its own name") {
  const auto launched = [](const char* engine, const char* task, std::optional<std::string> step = {}) {
    Context context = made_up("12-a", std::move(step), task);
    context.engine = engine;
    context.provenance.task = Provenance::kInferred;
    return context;
  };
  CHECK(names_of({task_node(launched("make", "sort a > b"), "sort", 1)}) == Names{"make: sort a > b"});
  CHECK(task_name(launched("xargs", "gzip a", "gzip")) == "xargs: gzip a");
  CHECK(task_name(identity_of(launched("parallel", "md5sum a"))) == "parallel: md5sum a");
  CHECK(task_name(launched("shell", "align.sh S1", "align.sh")) == "align.sh S1");
  CHECK(task_name(launched("snakemake", "sort a > b")) == "sort a > b");
  CHECK(task_name(launched("make", "\n  set -e; \\\n\tsort a \\\n    | uniq\n")) == "make: set -e; sort a | uniq");
  CHECK(task_name(launched("snakemake", "sort  a > b")) == "sort  a > b");
  Context labeled = launched("make", "S1");
  labeled.provenance.task = Provenance::kLabel;
  CHECK(task_name(labeled) == "S1");
}

TEST_CASE("a scheduler's job is called by its number, with what it runs") {
  const auto job = [](const char* id, const char* engine) {
    Context context = given(id);
    context.engine = engine;
    return context;
  };
  CHECK(names_of({task_node(job("71.batch", "slurm"), "work.py", 1), task_node(job("72.0", "slurm"), "work.py", 2),
                  task_node(job("77", "pbs"), "", 3), task_node(job("instance-x", "toil"), "sort", 4)}) ==
        Names{"71.batch: work.py", "72.0: work.py", "77", "sort"});
  CHECK(task_name(job("71.batch", "slurm")) == "71.batch");
}

TEST_CASE("a row for the tasks beyond the bounds is no task") {
  ReportNode others = task_node({.task = kOtherTasks}, "wc", 1);
  others.row.name = kOtherTasks;
  CHECK(names_of({others}) == Names{kOtherTasks});
}

TEST_CASE("sentences call a task by its step or first process rather than by an id that was made up") {
  CHECK(task_name(made_up("445-4932dd", "step2.sh")) == "step2.sh");
  CHECK(task_name(made_up("445-4932dd")) == "pid 445");
  CHECK(task_name(made_up("job 3/1")).empty());
  CHECK(task_name(given("445-4932dd", "step2.sh")) == "step2.sh 445-4932dd");
  CHECK(task_name(identity_of(made_up("445-4932dd", "step2.sh"))) == "step2.sh");
}

TEST_CASE("what a program runs is its name and its arguments") {
  CHECK(command_name(program_of("gzip", {"/bin/gzip", "-k", "a"})) == "gzip -k a");
  CHECK(command_name(program_of("align.sh", {"bash", "-e", "./align.sh", "S1"})) == "align.sh S1");
  CHECK(command_name(program_of("samtools sort", {"samtools", "sort", "a.bam"})) == "samtools sort a.bam");
  CHECK(command_name(program_of("sh -c", {"sh", "-c", "sort $0 | uniq", "S1"})) == "sort $0 | uniq S1");
  CHECK(command_name(program_of("bash -c", {"/bin/bash", "-ec", "sort a"})) == "sort a");
  CHECK(command_name(program_of("bash -c", {"/bin/bash", "-eu", "-o", "pipefail", "-c", "sort -c a"})) == "sort -c a");
  CHECK(command_name(program_of("bash -c", {"bash", "-euo", "pipefail", "-O", "extglob", "-c", "sort a"})) == "sort a");
  CHECK(command_name(program_of("bash -c", {"bash", "--norc", "--rcfile", "x", "-ceo", "pipefail", "sort a", "S1"})) ==
        "sort a S1");
  CHECK(command_name(program_of("foo", {"java", "-jar", "bar.jar"})) == "foo -jar bar.jar");
  CHECK(command_name(Program{}).empty());
  const std::string many = command_name(program_of("gzip", std::vector<std::string>(1000, "ä")));
  CHECK(many.size() <= 256);
  CHECK(many.size() >= 254);
  CHECK((static_cast<unsigned char>(many.back()) == ' ' || static_cast<unsigned char>(many.back()) == 0xa4));
}
