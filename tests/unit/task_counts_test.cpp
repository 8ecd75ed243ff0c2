// SPDX-License-Identifier: Apache-2.0
#include "report/task_counts.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <tuple>

using tracer::internal::TaskCounts;

namespace {

std::shared_ptr<const tracer::Context> task_context(std::uint64_t key, const std::string& name,
                                                    std::uint32_t attempt = 1) {
  tracer::Context context;
  context.run_key = tracer::Key{7};
  context.task_key = tracer::Key{key};
  context.task = name;
  context.attempt = attempt;
  return std::make_shared<const tracer::Context>(context);
}

tracer::TaskSubmit told(const std::shared_ptr<const tracer::Context>& context, const std::string& state,
                        std::optional<std::string> outcome = {}) {
  tracer::TaskSubmit submit;
  submit.context = context;
  submit.state = state;
  submit.outcome = std::move(outcome);
  return submit;
}

tracer::TaskStart began(const std::shared_ptr<const tracer::Context>& context) {
  tracer::TaskStart start;
  start.context = context;
  return start;
}

tracer::TaskFinish ended(const std::shared_ptr<const tracer::Context>& context, std::int32_t status) {
  tracer::TaskFinish finish{};
  finish.context = context;
  finish.exit_code = status;
  return finish;
}

/// Running, done, failed, queued.
std::tuple<int, int, int, int> all_of(const TaskCounts& counts) {
  const auto number = [](std::uint64_t count) { return static_cast<int>(count); };
  return {number(counts.running()), number(counts.done()), number(counts.failed()), number(counts.queued())};
}

}  // namespace

TEST_CASE("tasks are counted by their state, and of one that is tried again the last attempt") {
  TaskCounts counts;
  CHECK_FALSE(counts.any());
  const auto first = task_context(1, "A");
  const auto second = task_context(2, "B");
  counts.saw(told(first, "submitted"));
  counts.saw(told(second, "submitted"));
  CHECK(all_of(counts) == std::tuple(0, 0, 0, 2));
  counts.saw(began(first));
  counts.saw(told(first, "started"));
  CHECK(all_of(counts) == std::tuple(1, 0, 0, 1));
  counts.saw(ended(first, 3));
  CHECK(all_of(counts) == std::tuple(0, 0, 1, 1));
  counts.saw(began(task_context(3, "A", 2)));
  CHECK(all_of(counts) == std::tuple(1, 0, 0, 1));
  counts.saw(ended(task_context(3, "A", 2), 0));
  counts.saw(told(second, "withdrawn", "aborted"));
  CHECK(all_of(counts) == std::tuple(0, 1, 0, 0));
  CHECK(counts.any());
}

TEST_CASE("tasks with one name are several, and what ran elsewhere counts by its outcome") {
  TaskCounts counts;
  for (const std::uint64_t key : {1, 2}) {
    counts.saw(began(task_context(key, "same")));
    counts.saw(ended(task_context(key, "same"), 1));
  }
  CHECK(all_of(counts) == std::tuple(0, 0, 2, 0));
  counts.saw(told(task_context(3, "same"), "submitted"));
  counts.saw(told(task_context(3, "same"), "started_elsewhere"));
  CHECK(all_of(counts) == std::tuple(1, 0, 2, 0));
  counts.saw(told(task_context(3, "same"), "ended_elsewhere", "succeeded"));
  CHECK(all_of(counts) == std::tuple(0, 1, 2, 0));
}

TEST_CASE("a task that gets another key is the same") {
  TaskCounts counts;
  counts.saw(told(task_context(1, "A"), "submitted"));
  tracer::ContextChange change;
  change.before = task_context(1, "A");
  change.after = task_context(2, "A");
  change.old_task_key = tracer::Key{1};
  counts.saw(change);
  counts.saw(began(task_context(2, "A")));
  CHECK(all_of(counts) == std::tuple(1, 0, 0, 0));
}
