// SPDX-License-Identifier: Apache-2.0
/// The critical path of runs whose plan is known.
#include "report/sums/critical_path.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "report/subjects.hpp"
#include "report/sums/run_paths.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// What a run is to do, and when its slots came to it.
struct Plan {
  struct Step {
    std::uint64_t wall_ns = 0;
    std::vector<std::size_t> needs = {};
    TaskSpan ran = {};
  };
  std::vector<Step> steps;

  /// Each needs some of those shortly before it.
  static Plan made(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Plan plan;
    for (std::size_t i = 0; i < count; ++i) {
      Step step;
      step.wall_ns = (1 + random() % 100) * kSecond + random() % kSecond;
      for (std::uint64_t n = random() % 4; n > 0 && i > 0; --n)
        step.needs.push_back(i - 1 - random() % std::min<std::size_t>(i, 50));
      plan.steps.push_back(std::move(step));
    }
    return plan;
  }

  void run_on(std::size_t slots) {
    std::vector<std::uint64_t> free_at(slots, kSecond);
    for (Step& step : steps) {
      const auto slot = std::min_element(free_at.begin(), free_at.end());
      step.ran.begin_ns = *slot;
      for (const std::size_t need : step.needs) step.ran.begin_ns = std::max(step.ran.begin_ns, steps[need].ran.end_ns);
      step.ran.end_ns = *slot = step.ran.begin_ns + step.wall_ns;
    }
  }

  /// By the plan alone, whatever ran when.
  std::uint64_t critical_ns() const {
    std::vector<std::uint64_t> chain(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const std::size_t need : steps[i].needs) chain[i] = std::max(chain[i], chain[need]);
      chain[i] += steps[i].wall_ns;
    }
    return *std::max_element(chain.begin(), chain.end());
  }
};

Context context_of(std::size_t task) {
  Context context;
  context.run = "r1";
  context.run_id = "r1";
  context.run_key = Key{1};
  context.step = "STEP";
  context.task_id = "t" + std::to_string(task);
  context.task_key = static_cast<Key>(100 + task);
  return context;
}

FileUse use_of(std::size_t task, std::size_t file, bool writes, std::uint64_t time_ns) {
  FileUse use;
  use.process =
      build::process({.pid = static_cast<std::uint32_t>(10 + task), .start_ns = time_ns, .context = context_of(task)});
  use.path = "/w/" + std::to_string(file);
  use.device = 1;
  use.inode = file + 1;
  use.opens = 1;
  use.opened_to_write = use.created = writes;
  use.opened_to_read = !writes;
  use.time_ns = use.last_close_ns = time_ns;
  return use;
}

/// As a recording has it. Files are known if `with_files`.
std::vector<Event> events_of(const Plan& plan, bool with_files = true) {
  std::vector<Event> events;
  std::uint64_t end_ns = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const TaskSpan& ran = plan.steps[i].ran;
    const auto context = std::make_shared<const Context>(context_of(i));
    TaskStart start;
    start.time_ns = start.start_ns = ran.begin_ns;
    start.context = context;
    start.pid = static_cast<std::uint32_t>(10 + i);
    events.emplace_back(start);
    if (with_files) {
      for (const std::size_t need : plan.steps[i].needs) events.emplace_back(use_of(i, need, false, ran.end_ns));
      events.emplace_back(use_of(i, i, true, ran.end_ns));
    }
    TaskFinish finish;
    finish.time_ns = finish.end_ns = ran.end_ns;
    finish.context = context;
    finish.pid = start.pid;
    finish.start_ns = finish.begin_ns = ran.begin_ns;
    finish.exit_code = 0;
    events.emplace_back(finish);
    end_ns = std::max(end_ns, ran.end_ns);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_ns() < b.time_ns(); });
  RunStart run;
  run.time_ns = run.start_ns = kSecond;
  Context context;
  context.run = context.run_id = "r1";
  context.run_key = Key{1};
  run.context = std::make_shared<const Context>(context);
  events.insert(events.begin(), Event(run));
  RunFinish over;
  over.time_ns = over.end_ns = end_ns;
  over.begin_ns = over.start_ns = kSecond;
  over.context = run.context;
  over.exit_code = 0;
  events.emplace_back(over);
  return events;
}

std::optional<CriticalPath> path_in(const std::vector<Event>& events, std::vector<std::string>* names = nullptr) {
  Subjects subjects("");
  for (const Event& event : events) subjects.add(event);
  subjects.finish();
  REQUIRE(subjects.runs().size() == 1);
  auto path = subjects.path_of(*subjects.runs().front());
  if (path && names != nullptr)
    for (const PathTask& task : path->tasks) names->push_back(*subjects.task_by(task.task_key)->context->task_id);
  return path;
}

}  // namespace

TEST_CASE("the critical path of 2,000 tasks on 4 slots is that of the plan") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Plan plan = Plan::made(2000, seed);
    plan.run_on(4);
    std::vector<std::string> names;
    const auto path = path_in(events_of(plan), &names);
    REQUIRE(path.has_value());
    CHECK(path->by_files);
    CHECK(path->at_least_ns == plan.critical_ns());
    CHECK(path->at_most_ns >= path->at_least_ns);
    // It is one: each needed the one before it.
    std::uint64_t sum_ns = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t task = std::stoul(names[i].substr(1));
      sum_ns += plan.steps[task].wall_ns;
      if (i == 0) continue;
      const auto& needs = plan.steps[task].needs;
      CHECK(std::find(needs.begin(), needs.end(), std::stoul(names[i - 1].substr(1))) != needs.end());
    }
    CHECK(sum_ns == path->at_least_ns);
  }
}

TEST_CASE("where files are not known, the path lies between the longest task and the longest chain in time") {
  Plan plan = Plan::made(500, 4);
  plan.run_on(4);
  const auto path = path_in(events_of(plan, false));
  REQUIRE(path.has_value());
  CHECK_FALSE(path->by_files);
  REQUIRE(path->tasks.size() == 1);
  std::uint64_t longest_ns = 0;
  for (const Plan::Step& step : plan.steps) longest_ns = std::max(longest_ns, step.wall_ns);
  CHECK(path->at_least_ns == longest_ns);
  CHECK(path->at_most_ns >= plan.critical_ns());
}

TEST_CASE("who begins before the writer has ended did not wait for it, and nobody waits for itself") {
  const std::vector<TaskSpan> tasks = {{0, 10}, {5, 25}, {10, 15}, {30, 31}};
  const LongestPath path =
      path_by_files(tasks, {{0, 1, false, true}, {1, 1, true, true}, {2, 1, true, false}, {3, 1, true, true}});
  // 1 began before 0 had ended; what it wrote, 3 has read.
  CHECK(path.tasks == std::vector<std::size_t>{1, 3});
  CHECK(path.length_ns == 21);
  CHECK(path_by_times(tasks).length_ns == 21);
  CHECK(path_by_files({}, {}).tasks.empty());
  CHECK(path_by_files({{0, 10}, {10, 15}}, {{0, 1, false, true}, {1, 1, true, false}}).length_ns == 15);
}

TEST_CASE("a report has the same path, and of a run on several machines none") {
  Plan plan = Plan::made(300, 5);
  plan.run_on(4);
  const std::vector<Event> events = events_of(plan);
  Summary summary;
  for (const Event& event : events) summary.add(event);
  const Report report = make_report(summary);
  REQUIRE(report.critical_paths.size() == 1);
  const CriticalPath& path = report.critical_paths.front();
  CHECK(path.run_key == Key{1});
  CHECK(path.by_files);
  CHECK(path.at_least_ns == plan.critical_ns());
  CHECK(path.at_most_ns == path_in(events)->at_most_ns);
  CHECK(path.tasks.back().finished);

  CHECK(sum_of_reports({report}, {0}).critical_paths.size() == 1);
  CHECK(sum_of_reports({report, report, report}, {0, 0, 0}).critical_paths.empty());
  Report moved = report;
  moved.critical_paths.front().run_key = Key{2};
  const auto both = sum_of_reports({report, moved}, {100, 130}).critical_paths;
  REQUIRE(both.size() == 2);
  CHECK(both[0].tasks.front().begin_ns == path.tasks.front().begin_ns);
  CHECK(both[1].tasks.front().begin_ns == path.tasks.front().begin_ns + 30);
}

TEST_CASE("a task that is still called otherwise when it reads is the same task") {
  Book book;
  RunPaths paths(book);
  const auto add = [&paths](auto event) { paths.add(Event(std::move(event))); };
  const auto span = [&](std::size_t task, std::uint64_t begin_ns, std::uint64_t end_ns) {
    TaskFinish finish;
    finish.time_ns = finish.end_ns = end_ns;
    finish.begin_ns = finish.start_ns = begin_ns;
    finish.context = std::make_shared<const Context>(context_of(task));
    add(finish);
  };
  add(use_of(0, 0, true, 9));
  span(0, 1, 10);
  add(use_of(1, 0, false, 15));
  ContextChange change;
  change.time_ns = 16;
  change.before = std::make_shared<const Context>(context_of(1));
  change.after = std::make_shared<const Context>(context_of(2));
  change.old_task_key = context_of(1).task_key;
  book.saw(change);
  add(change);
  span(2, 12, 20);
  const auto path = paths.path_of(Key{1});
  REQUIRE(path.has_value());
  REQUIRE(path->tasks.size() == 2);
  CHECK(path->tasks[1].task_key == *context_of(2).task_key);
  CHECK(path->at_least_ns == 9 + 8);
}

TEST_CASE("neither files that are written outside of tasks nor reads of one file take the places of others") {
  Plan plan;
  plan.steps = {{10 * kSecond}, {10 * kSecond, {0}}, {10 * kSecond, {1}}};
  plan.run_on(1);
  std::vector<Event> events = events_of(plan);
  std::vector<Event> more;
  for (std::size_t i = 0; i < 40'000; ++i) {
    FileUse use = use_of(0, 1000 + i, true, kSecond);
    Context outside = context_of(0);
    outside.task_key.reset();
    use.process = build::process({.pid = 5, .start_ns = kSecond, .context = outside});
    more.emplace_back(use);
  }
  events.insert(events.begin() + 1, more.begin(), more.end());
  const auto second = std::find_if(events.begin(), events.end(), [](const Event& event) {
    const auto* use = event.get_if<FileUse>();
    return use != nullptr && use->opened_to_read;
  });
  const std::vector<Event> reads(140'000, *second);
  events.insert(second, reads.begin(), reads.end());
  const auto path = path_in(events);
  REQUIRE(path);
  CHECK(path->by_files);
  CHECK(path->tasks.size() == 3);
}

TEST_CASE("the inode of a file that is gone says nothing of the next one") {
  Book book;
  RunPaths paths(book);
  const auto finish = [&](std::size_t task, std::uint64_t begin_ns, std::uint64_t end_ns) {
    TaskFinish over;
    over.time_ns = over.end_ns = end_ns;
    over.begin_ns = over.start_ns = begin_ns;
    over.context = std::make_shared<const Context>(context_of(task));
    paths.add(Event(over));
  };
  paths.add(Event(use_of(0, 0, true, 9)));
  finish(0, 1, 10);
  FileUse other = use_of(1, 0, true, 15);
  other.path = "/w/other";
  paths.add(Event(other));
  finish(1, 12, 20);
  FileUse read = use_of(2, 0, false, 25);
  read.path = "/w/other";
  paths.add(Event(read));
  finish(2, 21, 30);
  const auto path = paths.path_of(Key{1});
  REQUIRE(path.has_value());
  REQUIRE(path->tasks.size() == 2);
  CHECK(path->tasks[0].task_key == *context_of(1).task_key);
}
