// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// A hundredth of a life.
constexpr std::uint64_t kPart = 10'000'000;
constexpr std::uint64_t kMs = 1'000'000;

/// A process of one program, which lives for a second.
struct Run {
  std::uint32_t pid = 0;
  std::string tool = {};
  std::uint64_t start_ns = 1000;
  std::optional<std::uint32_t> reads_from = {};
  std::optional<std::uint32_t> writes_to = {};
  std::uint64_t waits_ns = 0;
  std::uint32_t parent = 1;
  std::uint64_t threads = 1;
  std::uint64_t polls_ns = 0;
  std::uint64_t written_bytes = 65536;
  std::uint64_t read_bytes = 65536;
  std::uint64_t life_ns = 100 * kPart;
  bool attached = false;  ///< Followed from its start_ns on, but born long before.
};

std::shared_ptr<const Process> process_of(const Run& run) {
  return build::process(
      {.pid = run.pid, .start_ns = run.attached ? 1 : run.start_ns, .parent_pid = run.parent, .tool = run.tool});
}

void begin(Summary& summary, const Run& run) {
  ProcessExec exec;
  exec.process = process_of(run);
  exec.time_ns = run.start_ns;
  summary.add(exec);
  if (!run.attached) return;
  // By which what it did before is known.
  ProcessSample sample;
  sample.process = exec.process;
  sample.time_ns = run.start_ns;
  sample.attached_ns = run.start_ns;
  sample.account.read_bytes = sample.account.written_bytes = 0;
  summary.add(sample);
}

void end(Summary& summary, const Run& run) {
  ProcessExit exit;
  exit.process = process_of(run);
  exit.program.program = exit.process->program;
  exit.program.start_ns = run.attached ? 1 : run.start_ns;
  if (run.attached) exit.attached_ns = run.start_ns;
  exit.program.end_ns = run.start_ns + run.life_ns;
  exit.program.account.written_bytes = run.written_bytes;
  exit.program.account.read_bytes = run.read_bytes;
  Ledger& ledger = exit.program.account.ledger.emplace();
  ledger.wall_ns = run.threads * run.life_ns;
  ledger.poll_ns = run.polls_ns;
  ledger.pipe_ns = run.waits_ns;
  if (run.reads_from) ledger.pipe_read_ns = run.waits_ns;
  if (run.writes_to) ledger.pipe_write_ns = run.waits_ns;
  ledger.pipe_read_peer_pid = run.reads_from;
  ledger.pipe_write_peer_pid = run.writes_to;
  summary.add(exit);
}

/// All live at once, and end in this order.
Summary summary_of(const std::vector<Run>& runs) {
  Summary summary;
  for (const Run& run : runs) begin(summary, run);
  for (const Run& run : runs) end(summary, run);
  return summary;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a stage of many threads, of which one writes, waits as long as that one") {
  for (const bool attached : {false, true}) {
    const std::uint64_t since_ns = 5000 * kPart;
    const auto pipes = summary_of({{.pid = 10,
                                    .tool = "bwa mem",
                                    .start_ns = since_ns,
                                    .writes_to = 11,
                                    .waits_ns = 95 * kPart,
                                    .threads = 17,
                                    .attached = attached},
                                   {.pid = 11,
                                    .tool = "samtools view",
                                    .start_ns = since_ns,
                                    .reads_from = 10,
                                    .writes_to = 12,
                                    .waits_ns = 85 * kPart,
                                    .attached = attached},
                                   {.pid = 12,
                                    .tool = "samtools sort",
                                    .start_ns = since_ns,
                                    .reads_from = 11,
                                    .waits_ns = 20 * kPart,
                                    .threads = 2,
                                    .attached = attached}})
                           .pipelines();
    REQUIRE(pipes.size() == 1);
    CHECK(pipes[0].bottleneck == "samtools sort");
    CHECK(pipes[0].bottleneck_share == doctest::Approx(0.2));
    CHECK(pipes[0].others_share == doctest::Approx(0.9));
  }
}

TEST_CASE("a child that reads on after its parent has ended is a stage: bash's tee >(slow)") {
  const std::uint64_t much = 4 << 20;
  const auto pipes_with = [](std::uint64_t read_bytes) {
    return summary_of({{.pid = 10, .tool = "tee", .writes_to = 11, .waits_ns = 80 * kPart},
                       {.pid = 11, .tool = "slow.py", .parent = 10, .read_bytes = read_bytes}})
        .pipelines();
  };
  REQUIRE(pipes_with(much).size() == 1);
  CHECK(pipes_with(much)[0].stages == Names{"tee", "slow.py"});
  CHECK(pipes_with(much)[0].bottleneck == "slow.py");
  CHECK(pipes_with(65536).empty());
}

TEST_CASE("the stage that the others wait for is told, in the order of the data") {
  const auto pipes = summary_of({{.pid = 10, .tool = "zcat", .writes_to = 11, .waits_ns = 80 * kPart},
                                 {.pid = 11, .tool = "bwa mem"},
                                 {.pid = 12, .tool = "samtools sort", .reads_from = 11, .waits_ns = 60 * kPart}})
                         .pipelines();
  REQUIRE(pipes.size() == 1);
  CHECK(pipes[0].stages == Names{"zcat", "bwa mem", "samtools sort"});
  CHECK(pipes[0].bottleneck == "bwa mem");
  CHECK(pipes[0].bottleneck_share == 0);
  CHECK(pipes[0].others_share == doctest::Approx(0.7));
  CHECK(pipes[0].waited_ns == 140 * kPart);
}

TEST_CASE("where all wait alike no stage stands out, and short waits join nobody") {
  const auto even = summary_of({{.pid = 10, .tool = "a", .writes_to = 11, .waits_ns = 40 * kPart},
                                {.pid = 11, .tool = "b", .reads_from = 10, .waits_ns = 40 * kPart}})
                        .pipelines();
  REQUIRE(even.size() == 1);
  CHECK(even[0].bottleneck.empty());
  CHECK(summary_of({{.pid = 10, .tool = "a"}, {.pid = 11, .tool = "b", .reads_from = 10, .waits_ns = 9 * kMs}})
            .pipelines()
            .empty());
}

TEST_CASE("pipes that have a tool in common are two, and pipes of the same tools one") {
  std::vector<Run> runs;
  for (std::uint32_t first = 10; first <= 30; first += 10) {
    runs.push_back({.pid = first, .tool = "bwa mem"});
    runs.push_back({.pid = first + 1, .tool = "samtools sort", .reads_from = first, .waits_ns = 90 * kPart});
  }
  runs.push_back({.pid = 40, .tool = "samtools sort", .writes_to = 41, .waits_ns = 30 * kPart});
  runs.push_back({.pid = 41, .tool = "gzip"});
  // In no pipe: waits of theirs would thin out the share of those that are.
  for (std::uint32_t pid = 50; pid < 60; ++pid) runs.push_back({.pid = pid, .tool = "gzip"});
  const auto pipes = summary_of(runs).pipelines();
  REQUIRE(pipes.size() == 2);
  CHECK(pipes[0].stages == Names{"bwa mem", "samtools sort"});
  CHECK(pipes[0].bottleneck == "bwa mem");
  CHECK(pipes[0].others_share == doctest::Approx(0.9));
  CHECK(pipes[1].stages == Names{"samtools sort", "gzip"});
  CHECK(pipes[1].bottleneck == "gzip");
  CHECK(pipes[1].others_share == doctest::Approx(0.3));
}

TEST_CASE("what a command prints to the shell that started it is no pipe") {
  CHECK(summary_of({{.pid = 11, .tool = "basename", .parent = 10},
                    {.pid = 10, .tool = "bash", .reads_from = 11, .waits_ns = 50 * kPart}})
            .pipelines()
            .empty());
}

TEST_CASE("a peer is who had the pid at the time, and nobody when two had it") {
  Summary summary;
  end(summary, {.pid = 10, .tool = "long gone", .start_ns = 1000});
  end(summary, {.pid = 10, .tool = "sed", .start_ns = 500 * kPart});
  end(summary, {.pid = 11, .tool = "sort", .start_ns = 510 * kPart, .reads_from = 10, .waits_ns = 50 * kPart});
  REQUIRE(summary.pipelines().size() == 1);
  CHECK(summary.pipelines()[0].stages == Names{"sed", "sort"});
  end(summary, {.pid = 20, .tool = "a", .start_ns = 1000 * kPart});
  end(summary, {.pid = 20, .tool = "b", .start_ns = 1101 * kPart});
  end(summary, {.pid = 21, .tool = "c", .start_ns = 1050 * kPart, .reads_from = 20, .waits_ns = 50 * kPart});
  CHECK(summary.pipelines().size() == 1);
}

TEST_CASE("pipes whose processes ended long ago are still told" * doctest::test_suite("one_thread")) {
  Summary summary;
  constexpr std::uint32_t kPipes = 20'000;
  for (std::uint32_t i = 0; i < kPipes; ++i) {
    const std::uint64_t start_ns = 1000 + i * 200 * kPart;
    end(summary, {.pid = 2 * i + 10, .tool = "bwa mem", .start_ns = start_ns});
    end(summary, {.pid = 2 * i + 11,
                  .tool = "samtools sort",
                  .start_ns = start_ns,
                  .reads_from = 2 * i + 10,
                  .waits_ns = 50 * kPart});
  }
  const auto pipes = summary.pipelines();
  REQUIRE(pipes.size() == 1);
  CHECK(pipes[0].waited_ns == kPipes * 50 * kPart);
  CHECK(pipes[0].others_share == doctest::Approx(0.5));
}

TEST_CASE("answers of children that ended long ago take no place of a pipe's" * doctest::test_suite("one_thread")) {
  Summary summary;
  const Run parent{.pid = 10, .tool = "qc.py", .reads_from = 30'000, .waits_ns = 80 * kPart};
  begin(summary, parent);
  const auto child = [&](std::uint32_t pid, std::optional<std::uint32_t> to, std::uint64_t bytes) {
    end(summary,
        {.pid = pid, .tool = "zcat", .writes_to = to, .waits_ns = 50 * kPart, .parent = 10, .written_bytes = bytes});
  };
  for (std::uint32_t pid = 100; pid < 400; ++pid) child(pid, 10, 4096);
  for (std::uint32_t pid = 1000; pid < 10'000; ++pid) child(pid, {}, 0);
  child(30'000, 10, 50 << 20);
  end(summary, parent);
  REQUIRE(summary.pipelines().size() == 1);
  CHECK(summary.pipelines()[0].stages == Names{"zcat", "qc.py"});
}

TEST_CASE("a child that feeds its parent data, or is fed, is in a pipe with it; one that answers is not") {
  const auto fed_by = [](std::uint64_t bytes) {
    return summary_of({{.pid = 11, .tool = "samtools depth", .parent = 10, .written_bytes = bytes},
                       {.pid = 10, .tool = "qc.py", .reads_from = 11, .waits_ns = 80 * kPart}})
        .pipelines();
  };
  const auto data = fed_by(50 << 20);
  REQUIRE(data.size() == 1);
  CHECK(data[0].stages == Names{"samtools depth", "qc.py"});
  CHECK(data[0].bottleneck == "samtools depth");
  CHECK(fed_by(4096).empty());
  const auto feeds = summary_of({{.pid = 11, .tool = "gzip", .parent = 10, .read_bytes = 50 << 20},
                                 {.pid = 10, .tool = "make.py", .writes_to = 11, .waits_ns = 80 * kPart}})
                         .pipelines();
  REQUIRE(feeds.size() == 1);
  CHECK(feeds[0].bottleneck == "gzip");
}

TEST_CASE("no stage stands out in pipes that lived or waited for milliseconds") {
  const auto bottleneck_of = [](std::uint64_t life_ns, std::uint64_t waits_ns) {
    const auto pipes =
        summary_of({{.pid = 10, .tool = "a", .life_ns = life_ns},
                    {.pid = 11, .tool = "b", .reads_from = 10, .waits_ns = waits_ns, .life_ns = life_ns}})
            .pipelines();
    REQUIRE(pipes.size() == 1);
    return pipes[0].bottleneck;
  };
  CHECK(bottleneck_of(600 * kMs, 400 * kMs) == "a");
  CHECK(bottleneck_of(400 * kMs, 300 * kMs).empty());
  CHECK(bottleneck_of(600 * kMs, 40 * kMs).empty());
}

TEST_CASE("no stage stands out where less passes through than a pipe holds") {
  const auto bottleneck_of = [](std::uint64_t bytes) {
    const auto pipes = summary_of({{.pid = 10, .tool = "a", .written_bytes = bytes, .read_bytes = 100},
                                   {.pid = 11,
                                    .tool = "b",
                                    .reads_from = 10,
                                    .waits_ns = 80 * kPart,
                                    .written_bytes = 100,
                                    .read_bytes = bytes}})
                           .pipelines();
    REQUIRE(pipes.size() == 1);
    return pipes[0].bottleneck;
  };
  CHECK(bottleneck_of(65536) == "a");
  CHECK(bottleneck_of(65535).empty());
}

TEST_CASE("a stage that may have awaited its pipes in a poll is no bottleneck") {
  const auto pipes = [](std::uint64_t polls_ns) {
    return summary_of({{.pid = 10, .tool = "a", .polls_ns = polls_ns},
                       {.pid = 11, .tool = "b", .reads_from = 10, .waits_ns = 80 * kPart}})
        .pipelines();
  };
  REQUIRE(pipes(0).size() == 1);
  CHECK(pipes(10 * kPart)[0].bottleneck == "a");
  CHECK(pipes(60 * kPart)[0].bottleneck.empty());
}
