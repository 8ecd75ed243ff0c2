// SPDX-License-Identifier: Apache-2.0
#include "correlate/sample_table.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "living_table.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace tracer::living_table;

namespace {

FileRecord file_at(std::uint64_t time_ns, std::uint64_t position_bytes) {
  FileRecord file;
  file.pid = 9;
  file.start_ns = 1;
  file.time_ns = time_ns;
  file.size_bytes = 1000;
  file.position_bytes = position_bytes;
  file.readable = true;
  file.name = "reads.bam";
  return file;
}

}  // namespace

TEST_CASE("a process's sample is the sum of its threads, in one record each") {
  SampleTable table({});
  ThreadRecord first = thread_of(9, 1);
  first.state = ThreadState::kUninterruptible;
  table.add(first, process(9), 400);
  table.add(thread_of(8, 7), process(8), {});
  table.add(thread_of(9, 2), process(9), 400);
  const auto samples = table.take();
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].process->pid == 8);
  CHECK(samples[0].threads == 1);
  const ProcessSample& sample = samples[1];
  CHECK(sample.process->pid == 9);
  CHECK(sample.threads == 2);
  CHECK(sample.time_ns == 5002);
  CHECK(sample.attached_ns == 400);
  CHECK(sample.state == "uninterruptible");
  CHECK(sample.account.cpu_ns == 300);
  CHECK(sample.account.storage_written_bytes == 45);
  CHECK(sample.account.ledger->wall_ns == 3000);
  CHECK(memory_is_unknown(sample));
  CHECK(table.take().empty());
}

TEST_CASE("a first thread that is dead adds what has ended, and neither counts nor has a state") {
  SampleTable table({});
  ThreadRecord dead = thread_of(9, 4);
  dead.lives = false;
  dead.state = ThreadState::kStopped;
  table.add(dead, process(9), {});
  table.add(thread_of(9, 1), process(9), {});
  dead.identity.pid = 10;
  table.add(dead, process(10), {});
  const auto samples = table.take();
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].threads == 1);
  CHECK(samples[0].state == "sleeping");
  CHECK(samples[0].account.cpu_ns == 500);
  CHECK(samples[0].account.ledger->wall_ns == 5000);
  CHECK(samples[1].threads == 0);
  CHECK_FALSE(samples[1].state.has_value());
  CHECK(samples[1].account.cpu_ns == 400);
}

TEST_CASE("each state has its name, and an unknown one none") {
  const auto name_of = [](std::optional<ThreadState> state) {
    SampleTable table({});
    ThreadRecord record = thread_of(9);
    record.state = state;
    table.add(record, process(9), {});
    return table.take().at(0).state;
  };
  CHECK(name_of(ThreadState::kRunning) == "running");
  CHECK(name_of(ThreadState::kSleeping) == "sleeping");
  CHECK(name_of(ThreadState::kUninterruptible) == "uninterruptible");
  CHECK(name_of(ThreadState::kStopped) == "stopped");
  CHECK_FALSE(name_of({}).has_value());
}

TEST_CASE("resident memory is told in bytes, from whichever thread's record has it") {
  SampleTable table({});
  ThreadRecord with = thread_of(9);
  with.memory = ThreadRecord::Memory{10, 20, 30};
  table.add(thread_of(9), process(9), {});
  table.add(with, process(9), {});
  table.add(thread_of(9), process(9), {});
  const ProcessSample sample = table.take().at(0);
  CHECK(sample.rss_anonymous_bytes == bytes_of_pages(10));
  CHECK(sample.rss_file_bytes == bytes_of_pages(20));
  CHECK(sample.rss_shared_bytes == bytes_of_pages(30));
  CHECK_FALSE(sample.pss_bytes.has_value());
}

TEST_CASE("a process that borrows its parent's memory holds none, and nobody asks for shares because of it") {
  Asking asking;
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .shared_bytes = 8 * kMiB, .flags = kBorrower}});
  CHECK(asking.asked.empty());
  CHECK(samples.at(2).rss_anonymous_bytes == 0);
  CHECK(samples.at(2).rss_file_bytes == 0);
  CHECK(samples.at(2).rss_shared_bytes == 0);
  CHECK(samples.at(1).rss_anonymous_bytes == 8 * kMiB);
  for (const auto& [pid, sample] : samples) CHECK_FALSE(sample.pss_bytes.has_value());
}

TEST_CASE("a sample has its process's progress from the second round on") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  SampleTable table({});
  table.add(file_at(kSecond, 100));
  table.add(thread_of(9), process(9), {});
  table.add(thread_of(8), process(8), {});
  auto samples = table.take();
  table.end_round();
  CHECK_FALSE(samples.at(0).progress.has_value());
  CHECK_FALSE(samples.at(1).progress.has_value());
  table.add(file_at(2 * kSecond, 400));
  table.add(thread_of(9), process(9), {});
  samples = table.take();
  REQUIRE(samples.at(0).progress.has_value());
  CHECK(samples.at(0).progress->file == "reads.bam");
  CHECK(samples.at(0).progress->position_bytes == 400);
  CHECK(samples.at(0).progress->bytes_per_s == 300);
  CHECK(samples.at(0).progress->time_left_ns == 2 * kSecond);
}

TEST_CASE("what was cleared is in no later sample, progress included") {
  SampleTable table({});
  table.add(file_at(1, 100));
  table.add(thread_of(9, 5), process(9), {});
  table.add(thread_of(8), process(8), {});
  table.clear();
  table.add(thread_of(9), process(9), {});
  const auto samples = table.take();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].threads == 1);
  CHECK(samples[0].account.cpu_ns == 100);
  CHECK_FALSE(samples[0].progress.has_value());
}
