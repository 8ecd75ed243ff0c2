// SPDX-License-Identifier: Apache-2.0
/// Whether a run has succeeded, and what has become of its tasks.
#include "report/sums/verdicts.hpp"

#include <signal.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace tracer;
using internal::Verdicts;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::shared_ptr<Context> in_run() {
  auto context = std::make_shared<Context>();
  context->run_key = Key{1};
  context->engine = "nextflow";
  context->pipeline = "/data/main.nf";
  return context;
}

TaskFinish task(std::uint64_t key, const char* name, std::int32_t status, std::uint32_t attempt = 1,
                const char* engine = "nextflow") {
  auto context = in_run();
  context->task_key = Key{key};
  context->task = name;
  context->engine = engine;
  context->attempt = attempt;
  TaskFinish finish;
  finish.context = context;
  finish.exit_code = status;
  finish.totals.failed = status == 0 ? 0 : 1;
  return finish;
}

RunFinish run(std::optional<std::int32_t> status, std::optional<std::int32_t> signal = {}) {
  RunFinish finish;
  finish.context = in_run();
  finish.end_ns = 32 * kSecond;
  finish.exit_code = status;
  finish.exit_signal = signal;
  finish.totals.failed = status == 0 ? 0 : 1;
  return finish;
}

}  // namespace

TEST_CASE("the verdict counts tasks once, whatever their attempts") {
  Verdicts verdicts;
  CHECK(verdicts.text({}).empty());
  verdicts.add(task(10, "ALIGN (S1)", 0));
  verdicts.add(task(11, "STATS (S1)", 137));
  CHECK_FALSE(verdicts.succeeded_later(*task(11, "STATS (S1)", 137).context));
  verdicts.add(task(12, "STATS (S1)", 0, 2));
  CHECK(verdicts.succeeded_later(*task(11, "STATS (S1)", 137).context));
  CHECK_FALSE(verdicts.succeeded_later(*task(12, "STATS (S1)", 0, 2).context));
  verdicts.add(task(13, "QC (S1)", 2));
  verdicts.add(run(0));
  CHECK(verdicts.text({}) == "main.nf succeeded (status 0) in 32.0 s: 3 tasks, 1 ok, 1 retried and then ok, 1 ignored");
  Finding finding;
  finding.subject = "process";
  finding.severity = "warning";
  finding.context = task(10, "ALIGN (S1)", 0).context;
  finding.evidence = {Evidence{"how"}};
  CHECK(verdicts.text({finding}).ends_with("1 ignored; something failed unnoticed in 1"));
  finding.context = task(13, "QC (S1)", 2).context;
  CHECK(verdicts.text({finding}).ends_with("1 ignored"));
}

TEST_CASE("scripts that a script began count if they took a fifth of its time") {
  for (const auto& [without_s, expected] : {std::pair{30u, "main.nf succeeded (status 0) in 32.0 s"},
                                            {10u, "main.nf succeeded (status 0) in 32.0 s: 1 task, 1 ok"}}) {
    Verdicts verdicts;
    verdicts.add(task(14, "qc.sh", 0, 1, "shell"));
    RunFinish finish = run(0);
    finish.without_task_ns = without_s * kSecond;
    verdicts.add(finish);
    CHECK(verdicts.text({}) == expected);
  }
}

TEST_CASE("the verdict of a run that failed, was ended, or whose end nobody saw") {
  Verdicts failed;
  failed.add(task(10, "ALIGN (S1)", 1));
  failed.add(run(1));
  CHECK(failed.text({}) == "main.nf failed (status 1) in 32.0 s: 1 task, 1 failed");
  Verdicts ended;
  ended.add(run({}, SIGTERM));
  CHECK(ended.text({}) == "main.nf was ended by SIGTERM after 32.0 s");
  Verdicts unseen;
  unseen.add(run({}));
  CHECK(unseen.text({}) == "main.nf ended, nobody knows how, in 32.0 s");
}
