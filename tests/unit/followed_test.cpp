// SPDX-License-Identifier: Apache-2.0
#include "state/followed.hpp"

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

ProcessExit exit_with(std::uint32_t pid, std::optional<std::uint64_t> cpu_ns, Context context = {}) {
  ProcessExit exit = build::exit(pid, pid);
  exit.process = build::process({.pid = pid, .start_ns = pid, .context = std::move(context)});
  exit.account.cpu_ns = cpu_ns;
  exit.account.peak_rss_bytes = 100;
  return exit;
}

Followed::Lives all_live() {
  return [](std::uint32_t, std::uint64_t) { return true; };
}

}  // namespace

TEST_CASE("sums of what was followed are by its labels, and no label is inferred") {
  Followed followed(100, all_live());
  Context labeled{.run = "r", .sample = "s"};
  labeled.provenance.run = Provenance::kLabel;
  labeled.provenance.sample = Provenance::kInferred;
  followed.saw(build::start(1, 1));
  followed.saw(exit_with(2, 5, labeled));
  followed.saw(exit_with(3, 7, labeled));
  ProcessExit failed = exit_with(4, 1);
  failed.exit_code = 3;
  followed.saw(failed);
  const auto totals = followed.totals();
  REQUIRE(totals.size() == 2);
  CHECK(totals[0].context == Context{});
  CHECK(totals[0].living == 1);
  CHECK(totals[0].ended == 1);
  CHECK(totals[0].failed == 1);
  CHECK(totals[1].context.run == "r");
  CHECK_FALSE(totals[1].context.sample.has_value());
  CHECK(totals[1].ended == 2);
  CHECK(totals[1].account.cpu_ns == 12);
  CHECK_FALSE(totals[1].account.peak_rss_bytes.has_value());
}

TEST_CASE("an account that is not known of one is not known of the sum") {
  Followed followed(100, all_live());
  followed.saw(exit_with(2, 5));
  followed.saw(exit_with(3, {}));
  followed.saw(exit_with(4, 5));
  CHECK_FALSE(followed.totals()[0].account.cpu_ns.has_value());
  CHECK(followed.totals()[0].ended == 3);
}

TEST_CASE("after a loss that may be of ends, what does not live has ended, once") {
  bool lives = true;
  Followed followed(100, [&](std::uint32_t, std::uint64_t) { return lives; });
  followed.saw(build::start(1, 1));
  followed.saw(Loss{1, "ring_full_file_use", 1});
  lives = false;
  followed.saw(Loss{1, "ring_full_file_use", 1});
  CHECK(followed.totals()[0].living == 1);
  followed.saw(Loss{1, "service_gap", 1});
  CHECK(followed.totals()[0].living == 0);
  CHECK(followed.totals()[0].ended == 1);
  followed.saw(exit_with(1, 5));
  CHECK(followed.totals()[0].ended == 1);
  CHECK_FALSE(followed.totals()[0].account.cpu_ns.has_value());
}

TEST_CASE("a pid that comes back is another process, and the first has ended") {
  Followed followed(100, all_live());
  followed.saw(build::start(1, 1));
  followed.saw(build::start(1, 9));
  CHECK(followed.has(1, 9));
  CHECK_FALSE(followed.has(1, 1));
  CHECK(followed.totals()[0].living == 1);
  CHECK(followed.totals()[0].ended == 1);
}

TEST_CASE("what lives is told with its runs and tasks, the earlier first") {
  Followed followed(100, all_live());
  TaskStart task;
  task.time_ns = 5;
  task.context = std::make_shared<const Context>(Context{.task_id = "1", .task_key = Key{6}});
  followed.saw(build::start(3, 3));
  followed.saw(task);
  followed.saw(build::start(2, 2));
  REQUIRE(followed.living().size() == 3);
  CHECK(followed.living()[0].kind() == EventKind::kTaskStart);
  CHECK(followed.living()[1].time_ns() == 2);
  TaskFinish finish;
  finish.context = task.context;
  followed.saw(finish);
  followed.saw(exit_with(2, 1));
  REQUIRE(followed.living().size() == 1);
  CHECK(followed.living()[0].time_ns() == 3);
}
