// SPDX-License-Identifier: Apache-2.0
/// The critical path of runs whose plan is known.
#include "report/critical_path.hpp"

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
  use.process = build::process({.pid = static_cast<std::uint32_t>(10 + task), .context = context_of(task)});
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

std::optional<RunPath> path_in(const std::vector<Event>& events, std::vector<std::string>* names = nullptr) {
  Subjects subjects("");
  for (const Event& event : events) subjects.add(event);
  subjects.finish();
  REQUIRE(subjects.runs().size() == 1);
  auto path = subjects.path_of(*subjects.runs().front());
  if (path && names != nullptr)
    for (const SubjectScope* task : path->tasks) names->push_back(*task->context->task_id);
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
    CHECK(path->length_ns == plan.critical_ns());
    CHECK(path->at_most_ns >= path->length_ns);
    // It is one: each needed the one before it.
    std::uint64_t sum_ns = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t task = std::stoul(names[i].substr(1));
      sum_ns += plan.steps[task].wall_ns;
      if (i == 0) continue;
      const auto& needs = plan.steps[task].needs;
      CHECK(std::find(needs.begin(), needs.end(), std::stoul(names[i - 1].substr(1))) != needs.end());
    }
    CHECK(sum_ns == path->length_ns);
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
  CHECK(path->length_ns == longest_ns);
  CHECK(path->at_most_ns >= plan.critical_ns());
}

TEST_CASE("who begins before the writer has ended did not wait for it, and nobody waits for itself") {
  const std::vector<TaskSpan> tasks = {{0, 10}, {5, 25}, {10, 15}, {30, 31}};
  const CriticalPath path =
      path_by_files(tasks, {{0, 1, false, true}, {1, 1, true, true}, {2, 1, true, false}, {3, 1, true, true}});
  // 1 began before 0 had ended; what it wrote, 3 has read.
  CHECK(path.tasks == std::vector<std::size_t>{1, 3});
  CHECK(path.length_ns == 21);
  CHECK(path_by_times(tasks).length_ns == 21);
  CHECK(path_by_files({}, {}).tasks.empty());
  CHECK(path_by_files({{0, 10}, {10, 15}}, {{0, 1, false, true}, {1, 1, true, false}}).length_ns == 15);
}
