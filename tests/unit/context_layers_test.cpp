// SPDX-License-Identifier: Apache-2.0
#include "context/layers.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

namespace {

Context labeled(Context context) {
  stamp(context, Provenance::kLabel);
  return context;
}

}  // namespace

TEST_CASE("a stronger source wins, whichever comes first, and the weaker one is kept") {
  Context context;
  say(context, "sample", "S1", Provenance::kEngineRule);
  say(context, "sample", "S2", Provenance::kInferred);
  CHECK(context.sample == "S1");
  CHECK(context.provenance.sample == Provenance::kEngineRule);
  say(context, "sample", "S3", Provenance::kAnnounced);
  CHECK(context.sample == "S3");
  CHECK(context.provenance.sample == Provenance::kAnnounced);
  REQUIRE(context.overruled.size() == 2);
  CHECK(context.overruled[0] == Overruled{"sample", "S1", Provenance::kEngineRule});
  CHECK(context.overruled[1] == Overruled{"sample", "S2", Provenance::kInferred});
}

TEST_CASE("of equals the later wins; the same value said again only becomes stronger") {
  Context context;
  say(context, "task", "A", Provenance::kLabel);
  say(context, "task", "B", Provenance::kLabel);
  CHECK(context.task == "B");
  REQUIRE(context.overruled.size() == 1);
  CHECK(context.overruled[0].value == "A");
  say(context, "task", "B", Provenance::kAnnounced);
  CHECK(context.provenance.task == Provenance::kAnnounced);
  CHECK(context.overruled.size() == 1);
  say(context, "task", "A", Provenance::kAnnounced);
  CHECK(context.task == "A");
  REQUIRE(context.overruled.size() == 1);
  CHECK(context.overruled[0].value == "B");
}

TEST_CASE("attempts are numbers from 1; what is none is not said") {
  Context context;
  for (const char* text : {"", "0", "-1", "two", "1x", "99999999999"})
    say(context, "attempt", text, Provenance::kAnnounced);
  CHECK_FALSE(context.attempt);
  say(context, "attempt", "2", Provenance::kEngineRule);
  say(context, "attempt", "1", Provenance::kInferred);
  CHECK(context.attempt == 2u);
  REQUIRE(context.overruled.size() == 1);
  CHECK(context.overruled[0] == Overruled{"attempt", "1", Provenance::kInferred});
}

TEST_CASE("labels are kept by name; their number and length are bounded") {
  Context context;
  say_label(context, "b", "1", Provenance::kEngineRule);
  say_label(context, "a", "2", Provenance::kEngineRule);
  say_label(context, "b", "3", Provenance::kInferred);
  REQUIRE(context.labels.size() == 2);
  CHECK(context.labels[0] == Label{"a", "2"});
  CHECK(context.labels[1] == Label{"b", "3"});
  CHECK(context.provenance.labels == Provenance::kInferred);
  for (int i = 0; i < 1000; ++i)
    say_label(context, "n" + std::to_string(i), std::string(1u << 20, 'x'), Provenance::kLabel);
  std::size_t bytes = 0;
  for (const Label& label : context.labels) bytes += label.name.size() + label.value.size();
  CHECK(bytes <= kMostLabelBytes);
  CHECK(context.labels_cut_bytes.value_or(0) != 0);
  Context many;
  for (int i = 100; i < 200; ++i) say_label(many, "n" + std::to_string(i), "1", Provenance::kLabel);
  CHECK(many.labels.size() == kMostLabels);
  CHECK(many.labels_cut_bytes == 36 * 5u);
}

TEST_CASE("a task inherits its run, not what the task around it is called") {
  Context run = labeled({.pipeline = "p", .run = "r", .sample = "S1"});
  run.run_id = "7-1";
  Context task = inherited_by_task(run);
  say(task, "step", "ALIGN", Provenance::kEngineRule);
  say(task, "task_id", "ab/cd", Provenance::kEngineRule);
  CHECK(task.run == "r");
  CHECK(task.sample == "S1");
  const Context other = inherited_by_task(task);
  CHECK(other.run == "r");
  CHECK_FALSE(other.step);
  CHECK_FALSE(other.task_id);
  CHECK_FALSE(other.provenance.step);

  const Context inner = inherited_by_run(task);
  CHECK(inner.within == "7-1/ab/cd");
  CHECK_FALSE(inner.run);
  CHECK_FALSE(inner.pipeline);
  CHECK_FALSE(inner.run_id);
  CHECK(inner.sample == "S1");

  // A run that was labeled, and is no task, is the run itself.
  const Context same = inherited_by_run(labeled({.pipeline = "p", .run = "r"}));
  CHECK(same.pipeline == "p");
  CHECK_FALSE(same.within);
}

TEST_CASE("what one source has said can be forgotten, and what it had overruled counts again") {
  Context context;
  say(context, "run", "inferred", Provenance::kInferred);
  say(context, "step", "ALIGN", Provenance::kEngineRule);
  overlay(context, labeled({.pipeline = "p", .run = "r", .labels = {{"a", "b"}}}));
  CHECK(context.run == "r");
  forget_said(context, Provenance::kLabel);
  CHECK_FALSE(context.pipeline);
  CHECK(context.run == "inferred");
  CHECK(context.provenance.run == Provenance::kInferred);
  CHECK(context.step == "ALIGN");
  CHECK(context.labels.empty());
  CHECK(context.overruled.empty());
}
