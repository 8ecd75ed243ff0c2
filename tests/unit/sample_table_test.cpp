// SPDX-License-Identifier: Apache-2.0
#include "correlate/sample_table.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "decode/account.hpp"
#include "wire_builder.hpp"

using namespace tracer;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint32_t kCopy = 0;  ///< Flags of one that only forked.
constexpr std::uint32_t kExecuted = TRACER_FLAG_EXECUTED;

std::shared_ptr<const Process> process(std::uint32_t pid, std::optional<std::uint32_t> parent = {}) {
  Process process;
  process.pid = pid;
  process.start_ns = 1;
  process.parent_pid = parent;
  return std::make_shared<const Process>(process);
}

ThreadRecord thread_of(std::uint32_t pid, std::uint64_t unit = 1) {
  ThreadRecord record;
  record.identity.pid = pid;
  record.identity.time_ns = 5000 + unit;
  record.sum = wire::counted(unit);
  record.waits.threads = 1;
  record.waits.wall_ns = 1000 * unit;
  record.flags = kExecuted;
  record.state = TRACER_STATE_SLEEPING;
  return record;
}

struct Living {
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> parent = {};
  std::uint64_t anonymous_bytes = 8 * kMiB;
  std::uint32_t flags = kExecuted;
};

void add(SampleTable& table, const Living& living) {
  ThreadRecord record = thread_of(living.pid);
  record.flags = living.flags;
  record.memory = ThreadRecord::Memory{living.anonymous_bytes / bytes_of_pages(1), 3, 4};
  table.add(record, process(living.pid, living.parent), {});
}

/// A table whose shares come from `answer`, and who was asked.
struct Asking {
  using Answer = std::function<std::optional<std::uint64_t>(std::uint32_t pid)>;

  explicit Asking(Answer answer = [](std::uint32_t) { return std::optional(5 * kMiB); })
      : table([this, answer = std::move(answer)](std::uint32_t pid) {
          asked.push_back(pid);
          return answer(pid);
        }) {}
  std::map<std::uint32_t, ProcessSample> take(std::initializer_list<Living> all) {
    for (const Living& living : all) add(table, living);
    std::map<std::uint32_t, ProcessSample> samples;
    for (ProcessSample& sample : table.take()) samples.emplace(sample.process->pid, std::move(sample));
    return samples;
  }

  std::vector<std::uint32_t> asked;
  SampleTable table;
};

bool memory_is_unknown(const ProcessSample& sample) {
  return !sample.rss_anonymous_bytes && !sample.rss_file_bytes && !sample.rss_shared_bytes && !sample.pss_bytes;
}

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
  first.state = TRACER_STATE_UNINTERRUPTIBLE;
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
  CHECK(sample.account.ledger.wall_ns == 3000);
  CHECK(memory_is_unknown(sample));
  CHECK(table.take().empty());
}

TEST_CASE("a first thread that is dead adds what has ended, and neither counts nor has a state") {
  SampleTable table({});
  ThreadRecord dead = thread_of(9, 4);
  dead.lives = false;
  dead.state = TRACER_STATE_STOPPED;
  table.add(dead, process(9), {});
  table.add(thread_of(9, 1), process(9), {});
  dead.identity.pid = 10;
  table.add(dead, process(10), {});
  const auto samples = table.take();
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].threads == 1);
  CHECK(samples[0].state == "sleeping");
  CHECK(samples[0].account.cpu_ns == 500);
  CHECK(samples[0].account.ledger.wall_ns == 5000);
  CHECK(samples[1].threads == 0);
  CHECK_FALSE(samples[1].state.has_value());
  CHECK(samples[1].account.cpu_ns == 400);
}

TEST_CASE("each state has its name, and an unknown one none") {
  const auto name_of = [](std::uint32_t state) {
    SampleTable table({});
    ThreadRecord record = thread_of(9);
    record.state = state;
    table.add(record, process(9), {});
    return table.take().at(0).state;
  };
  CHECK(name_of(TRACER_STATE_RUNNING) == "running");
  CHECK(name_of(TRACER_STATE_SLEEPING) == "sleeping");
  CHECK(name_of(TRACER_STATE_UNINTERRUPTIBLE) == "uninterruptible");
  CHECK(name_of(TRACER_STATE_STOPPED) == "stopped");
  CHECK_FALSE(name_of(99).has_value());
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
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = TRACER_FLAG_PEAK_SHARED}});
  CHECK(asking.asked.empty());
  CHECK(samples.at(2).rss_anonymous_bytes == 0);
  CHECK(samples.at(2).rss_file_bytes == 0);
  CHECK(samples.at(2).rss_shared_bytes == 0);
  CHECK(samples.at(1).rss_anonymous_bytes == 8 * kMiB);
  for (const auto& [pid, sample] : samples) CHECK_FALSE(sample.pss_bytes.has_value());
}

TEST_CASE("a copy and its parent are told their shares, others are not") {
  Asking asking([](std::uint32_t pid) { return pid * kMiB; });
  const auto samples = asking.take(
      {{.pid = 1}, {.pid = 2, .parent = 1}, {.pid = 3, .parent = 2, .flags = kCopy}, {.pid = 4, .parent = 77}});
  CHECK(samples.at(2).pss_bytes == 2 * kMiB);
  CHECK(samples.at(3).pss_bytes == 3 * kMiB);
  CHECK(samples.at(3).rss_anonymous_bytes == 8 * kMiB);
  CHECK_FALSE(samples.at(1).pss_bytes.has_value());
  CHECK_FALSE(samples.at(4).pss_bytes.has_value());
  CHECK(samples.at(1).rss_anonymous_bytes == 8 * kMiB);
  CHECK(asking.asked == std::vector<std::uint32_t>{2, 3, 2});
}

TEST_CASE("a parent that is not sampled is not asked for its share") {
  Asking asking;
  const auto samples = asking.take({{.pid = 3, .parent = 2, .flags = kCopy}, {.pid = 4, .flags = kCopy}});
  CHECK(samples.size() == 2);
  CHECK(samples.at(3).pss_bytes == 5 * kMiB);
  CHECK(samples.at(4).pss_bytes == 5 * kMiB);
  CHECK(asking.asked == std::vector<std::uint32_t>{3, 4, 3});
}

TEST_CASE("shares are asked for from 4 MiB on") {
  Asking asking;
  asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .anonymous_bytes = 4 * kMiB - bytes_of_pages(1), .flags = kCopy}});
  CHECK(asking.asked.empty());
  asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .anonymous_bytes = 4 * kMiB, .flags = kCopy}});
  CHECK_FALSE(asking.asked.empty());
}

TEST_CASE("one that has executed, or that lived before, is no copy") {
  Asking asking;
  asking.take({{.pid = 1},
               {.pid = 2, .parent = 1, .flags = kExecuted},
               {.pid = 3, .parent = 1, .flags = TRACER_FLAG_ADOPTED_LIFE}});
  CHECK(asking.asked.empty());
}

TEST_CASE("a copy of which no memory is known asks for nothing") {
  Asking asking;
  ThreadRecord record = thread_of(2);
  record.flags = kCopy;
  asking.table.add(record, process(2, 1), {});
  CHECK(memory_is_unknown(asking.table.take().at(0)));
  CHECK(asking.asked.empty());
}

TEST_CASE("without a way to read shares copies keep their resident memory") {
  SampleTable table({});
  add(table, {.pid = 2, .parent = 1, .flags = kCopy});
  const auto samples = table.take();
  CHECK(samples.at(0).rss_anonymous_bytes == 8 * kMiB);
  CHECK_FALSE(samples.at(0).pss_bytes.has_value());
}

TEST_CASE("a share that can't be read leaves that process's memory unknown, and the others' are read again") {
  Asking asking([](std::uint32_t pid) { return pid == 2 ? std::nullopt : std::optional(6 * kMiB); });
  const auto samples =
      asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}, {.pid = 3, .parent = 1, .flags = kCopy}});
  CHECK(memory_is_unknown(samples.at(2)));
  CHECK(samples.at(2).account.cpu_ns == 100);
  CHECK(samples.at(1).pss_bytes == 6 * kMiB);
  CHECK(samples.at(3).pss_bytes == 6 * kMiB);
  CHECK(asking.asked == std::vector<std::uint32_t>{1, 2, 3, 1, 3, 1});
}

TEST_CASE("where no share can be read all memory is unknown") {
  Asking asking([](std::uint32_t) { return std::nullopt; });
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}});
  for (const auto& [pid, sample] : samples) CHECK(memory_is_unknown(sample));
}

TEST_CASE("shares that have changed meanwhile are read again") {
  std::uint64_t reads = 0;
  Asking asking([&](std::uint32_t) { return std::optional((++reads <= 2 ? 5 : 10) * kMiB); });
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}});
  CHECK(asking.asked == std::vector<std::uint32_t>{1, 2, 1, 1, 2, 1});
  CHECK(samples.at(1).pss_bytes == 10 * kMiB);
  CHECK(samples.at(2).pss_bytes == 10 * kMiB);
}

TEST_CASE("a share that changes by a percent at most stays") {
  const auto rounds = [](std::uint64_t again) {
    std::uint64_t reads = 0;
    Asking asking([&](std::uint32_t) { return std::optional(++reads == 1 ? 1'000'000 : again); });
    asking.take({{.pid = 2, .flags = kCopy}});
    return asking.asked.size() / 2;
  };
  CHECK(rounds(1'010'000) == 1);
  CHECK(rounds(990'000) == 1);
  CHECK(rounds(1'010'001) == 2);
  CHECK(rounds(989'999) == 2);
}

TEST_CASE("shares that never stop changing are forgotten in the end") {
  std::uint64_t reads = 0;
  Asking asking([&](std::uint32_t) { return std::optional(++reads * kMiB); });
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}, {.pid = 9}});
  CHECK(memory_is_unknown(samples.at(1)));
  CHECK(memory_is_unknown(samples.at(2)));
  CHECK(samples.at(9).rss_anonymous_bytes == 8 * kMiB);
  CHECK(asking.asked.size() == 9);
}

TEST_CASE("shares that take too long are not waited for") {
  Asking asking([](std::uint32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    return std::optional(5 * kMiB);
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto samples = asking.take({{.pid = 1},
                                    {.pid = 2, .parent = 1, .flags = kCopy},
                                    {.pid = 3, .parent = 1, .flags = kCopy},
                                    {.pid = 4, .parent = 1, .flags = kCopy}});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
  CHECK(asking.asked.size() >= 1);
  CHECK(asking.asked.size() <= 4);
  REQUIRE(samples.size() == 4);
  CHECK(samples.at(1).pss_bytes == 5 * kMiB);
  CHECK(memory_is_unknown(samples.at(3)));
  CHECK(memory_is_unknown(samples.at(4)));
  CHECK(samples.at(4).threads == 1);
}

TEST_CASE("one that has ended meanwhile is dropped, and not asked for its share") {
  Asking asking;
  add(asking.table, {.pid = 1});
  add(asking.table, {.pid = 2, .parent = 1, .flags = kCopy});
  add(asking.table, {.pid = 3, .parent = 1, .flags = kCopy});
  for (const std::uint32_t pid : {1u, 2u, 77u}) asking.table.drop(pid);
  const auto samples = asking.table.take();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].process->pid == 3);
  CHECK(asking.asked == std::vector<std::uint32_t>{3, 3});
}

TEST_CASE("a sample has its process's progress, and rates from the second round on") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  SampleTable table({});
  table.add(file_at(kSecond, 100));
  table.add(thread_of(9), process(9), {});
  table.add(thread_of(8), process(8), {});
  auto samples = table.take();
  table.end_round();
  CHECK_FALSE(samples.at(0).progress.file.has_value());
  CHECK(samples.at(1).progress.file == "reads.bam");
  CHECK(samples.at(1).progress.position_bytes == 100);
  CHECK_FALSE(samples.at(1).progress.bytes_per_s.has_value());
  table.add(file_at(2 * kSecond, 400));
  table.add(thread_of(9), process(9), {});
  samples = table.take();
  CHECK(samples.at(0).progress.bytes_per_s == 300);
  CHECK(samples.at(0).progress.time_left_ns == 2 * kSecond);
}

TEST_CASE("what is cleared is in no later sample, progress included") {
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
  CHECK_FALSE(samples[0].progress.file.has_value());
}
