// SPDX-License-Identifier: Apache-2.0
#include "correlate/sample_table.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "living_table.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace tracer::living_table;

TEST_CASE("one that borrows memory is never asked for a share, whatever its lender shares with others") {
  Asking asking;
  const auto samples = asking.take({{.pid = 1, .shared_bytes = 8 * kMiB},
                                    {.pid = 2, .parent = 1, .flags = kCopy},
                                    {.pid = 3, .parent = 1, .shared_bytes = 8 * kMiB, .flags = kBorrower}});
  CHECK(asking.asked == Pids{1, 2, 1});
  CHECK_FALSE(samples.at(3).pss_bytes.has_value());
  CHECK(samples.at(3).rss_anonymous_bytes == 0);
}

TEST_CASE("a copy and all that run its executable are told their shares, others are not") {
  Asking asking([](std::uint32_t pid) { return pid * kMiB; });
  const auto samples = asking.take({{.pid = 1, .exe = "/bin/bash"},
                                    {.pid = 2, .parent = 1},
                                    {.pid = 3, .parent = 2, .flags = kCopy},
                                    {.pid = 4, .parent = 77},
                                    {.pid = 5, .parent = 2, .exe = "/bin/sort"}});
  for (const std::uint32_t pid : {2u, 3u, 4u}) {
    CHECK(samples.at(pid).pss_bytes == pid * kMiB);
    CHECK(samples.at(pid).rss_anonymous_bytes == 8 * kMiB);
  }
  for (const std::uint32_t pid : {1u, 5u}) {
    CHECK_FALSE(samples.at(pid).pss_bytes.has_value());
    CHECK(samples.at(pid).rss_anonymous_bytes == 8 * kMiB);
  }
  CHECK(asking.asked == Pids{2, 3, 4, 2});
}

TEST_CASE("a copy made by a double fork shares with its grandparent, though the one in the middle is gone") {
  Asking asking;
  const auto samples = asking.take({{.pid = 1}, {.pid = 3, .parent = 2, .flags = kCopy}});
  CHECK(samples.at(1).pss_bytes == 5 * kMiB);
  CHECK(samples.at(3).pss_bytes == 5 * kMiB);
  CHECK(asking.asked == Pids{1, 3, 1});
}

TEST_CASE("a server that forks its workers beforehand shares with all of them, and with theirs") {
  Asking asking;
  const auto samples = asking.take({{.pid = 1, .exe = "/usr/sbin/httpd", .anonymous_bytes = 64 * kMiB},
                                    {.pid = 2, .parent = 1, .exe = "/usr/sbin/httpd", .flags = kCopy},
                                    {.pid = 3, .parent = 1, .exe = "/usr/sbin/httpd", .flags = kCopy},
                                    {.pid = 4, .parent = 3, .exe = "/usr/sbin/httpd", .flags = kCopy},
                                    {.pid = 5, .parent = 3}});
  CHECK(asking.asked == Pids{1, 2, 3, 4, 1});
  for (const std::uint32_t pid : {1u, 2u, 3u, 4u}) CHECK(samples.at(pid).pss_bytes == 5 * kMiB);
  CHECK_FALSE(samples.at(5).pss_bytes.has_value());
}

TEST_CASE("many small copies matter as one large one does") {
  const auto asked_of = [](std::uint64_t last_bytes) {
    std::vector<Living> all = {{.pid = 1, .anonymous_bytes = kMiB / 2}};
    for (std::uint32_t pid = 2; pid <= 8; ++pid)
      all.push_back({.pid = pid, .parent = 1, .anonymous_bytes = kMiB / 2, .flags = kCopy});
    all.push_back({.pid = 9, .parent = 1, .anonymous_bytes = last_bytes, .flags = kCopy});
    Asking asking;
    asking.take(all);
    return asking.asked;
  };
  CHECK(asked_of(kMiB / 2 - bytes_of_pages(1)).empty());
  CHECK(asked_of(kMiB / 2) == Pids{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
}

TEST_CASE("copies of different executables do not matter together, those of an unknown one do") {
  Asking asking;
  asking.take({{.pid = 1, .anonymous_bytes = 3 * kMiB, .flags = kCopy},
               {.pid = 2, .exe = "/bin/bash", .anonymous_bytes = 3 * kMiB, .flags = kCopy},
               {.pid = 3, .exe = {}, .anonymous_bytes = 3 * kMiB, .flags = kCopy}});
  CHECK(asking.asked.empty());
  asking.take({{.pid = 3, .exe = {}, .anonymous_bytes = 3 * kMiB, .flags = kCopy},
               {.pid = 4, .exe = {}, .anonymous_bytes = 3 * kMiB, .flags = kCopy},
               {.pid = 5}});
  CHECK(asking.asked == Pids{3, 4, 3});
}

TEST_CASE("shares are asked for from 4 MiB of copies on, however much the one holds that they are copies of") {
  Asking asking;
  asking.take({{.pid = 1, .anonymous_bytes = 1024 * kMiB},
               {.pid = 2, .parent = 1, .anonymous_bytes = 4 * kMiB - bytes_of_pages(1), .flags = kCopy}});
  CHECK(asking.asked.empty());
  asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .anonymous_bytes = 4 * kMiB, .flags = kCopy}});
  CHECK(asking.asked == Pids{1, 2, 1});
}

TEST_CASE("one that has executed is no copy; one that lived before is one if it is said to be") {
  Asking asking;
  asking.take({{.pid = 1},
               {.pid = 2, .parent = 1, .flags = kExecuted},
               {.pid = 3, .parent = 1, .flags = {.lived_before = true}},
               {.pid = 4, .parent = 1, .flags = {}}});
  CHECK(asking.asked.empty());
  asking.take({{.pid = 1}, {.pid = 3, .parent = 1, .flags = {.lived_before = true, .copy = true}}});
  CHECK(asking.asked == Pids{1, 3, 1});
}

TEST_CASE("from 4 MiB of shared memory in all, everyone who has some is told its share") {
  const auto asked_of = [](std::uint64_t last_bytes) {
    Asking asking;
    const auto samples = asking.take({{.pid = 1, .shared_bytes = 2 * kMiB},
                                      {.pid = 2, .exe = "/bin/sort", .shared_bytes = 2 * kMiB - bytes_of_pages(1)},
                                      {.pid = 3},
                                      {.pid = 4, .exe = "/bin/cat", .shared_bytes = last_bytes}});
    for (const auto& [pid, sample] : samples) {
      const bool asked = std::find(asking.asked.begin(), asking.asked.end(), pid) != asking.asked.end();
      CHECK(sample.pss_bytes.has_value() == asked);
    }
    return asking.asked;
  };
  CHECK(asked_of(0).empty());
  CHECK(asked_of(bytes_of_pages(1)) == Pids{1, 2, 4, 1});
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

TEST_CASE("a share that can't be read leaves that process's memory unknown, and the others' known") {
  Asking asking([](std::uint32_t pid) { return pid == 2 ? std::nullopt : std::optional(6 * kMiB); });
  const auto samples =
      asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}, {.pid = 3, .parent = 1, .flags = kCopy}});
  REQUIRE(samples.size() == 3);
  CHECK(memory_is_unknown(samples.at(2)));
  CHECK(samples.at(2).account.cpu_ns == 100);
  CHECK(samples.at(1).pss_bytes == 6 * kMiB);
  CHECK(samples.at(3).pss_bytes == 6 * kMiB);
  CHECK(asking.asked == Pids{1, 2, 3, 1});
}

TEST_CASE("one that turns out to have ended is dropped, and the others' shares are read again") {
  std::set<std::uint32_t> read;
  Asking asking([&](std::uint32_t pid) -> std::optional<std::uint64_t> {
    if (pid == 2) return 0;
    return (read.insert(pid).second ? 5 : 9) * kMiB;
  });
  const auto samples =
      asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}, {.pid = 3, .parent = 1, .flags = kCopy}});
  REQUIRE(samples.size() == 2);
  CHECK(samples.at(1).pss_bytes == 9 * kMiB);
  CHECK(samples.at(3).pss_bytes == 9 * kMiB);
  CHECK(asking.asked == Pids{1, 2, 3, 1, 3, 1});
}

TEST_CASE("one that ends after its share was read is found out, too") {
  std::uint64_t reads = 0;
  Asking asking([&](std::uint32_t pid) { return std::optional(++reads > 2 && pid == 1 ? 0 : 5 * kMiB); });
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}});
  REQUIRE(samples.size() == 1);
  CHECK(samples.at(2).pss_bytes == 5 * kMiB);
  CHECK(asking.asked == Pids{1, 2, 1, 1, 2, 2, 2});
}

TEST_CASE("when all have ended none is left, and nobody else suffers") {
  Asking asking([](std::uint32_t) { return std::optional<std::uint64_t>(0); });
  const auto samples =
      asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}, {.pid = 9, .exe = "/bin/sort"}});
  REQUIRE(samples.size() == 1);
  CHECK(samples.at(9).rss_anonymous_bytes == 8 * kMiB);
  CHECK(asking.asked == Pids{1, 2});
}

TEST_CASE("where one ends in each round the shares of the others are forgotten in the end") {
  std::size_t reads = 0;
  Asking asking([&](std::uint32_t) {
    // The last of four, of three and of two.
    ++reads;
    return std::optional(reads == 4 || reads == 7 || reads == 9 ? 0 : 5 * kMiB);
  });
  std::vector<Living> all = {{.pid = 1}};
  for (const std::uint32_t pid : {2u, 3u, 4u}) all.push_back({.pid = pid, .parent = 1, .flags = kCopy});
  const auto samples = asking.take(all);
  CHECK(asking.asked == Pids{1, 2, 3, 4, 1, 2, 3, 1, 2});
  REQUIRE(samples.size() == 1);
  CHECK(memory_is_unknown(samples.at(1)));
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
  CHECK(asking.asked == Pids{1, 2, 1, 1, 2, 1});
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
  const auto samples =
      asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}, {.pid = 9, .exe = "/bin/sort"}});
  CHECK(memory_is_unknown(samples.at(1)));
  CHECK(memory_is_unknown(samples.at(2)));
  CHECK(samples.at(9).rss_anonymous_bytes == 8 * kMiB);
  CHECK(asking.asked.size() == 9);
}

TEST_CASE("shares that take too long are not waited for, and none of them is believed") {
  Asking asking(
      [](std::uint32_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        return std::optional(5 * kMiB);
      },
      std::chrono::seconds(1));
  const auto samples = asking.take({{.pid = 1},
                                    {.pid = 2, .parent = 1, .flags = kCopy},
                                    {.pid = 3, .parent = 1, .flags = kCopy},
                                    {.pid = 4, .exe = "/bin/sort"}});
  CHECK(asking.asked.size() >= 1);
  CHECK(asking.asked.size() <= 2);
  REQUIRE(samples.size() == 4);
  for (const std::uint32_t pid : {1u, 2u, 3u}) CHECK(memory_is_unknown(samples.at(pid)));
  CHECK(samples.at(3).threads == 1);
  CHECK(samples.at(4).rss_anonymous_bytes == 8 * kMiB);
}

TEST_CASE("all rounds together have that time, not each of them") {
  std::uint64_t reads = 0;
  Asking asking(
      [&](std::uint32_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        return std::optional(++reads * kMiB);
      },
      SampleTable::kMostTimeForShares);
  const auto samples = asking.take({{.pid = 1}, {.pid = 2, .parent = 1, .flags = kCopy}});
  // Begun at 0, 60, 120 and 180 ms at the earliest.
  CHECK(asking.asked.size() <= 4);
  REQUIRE(samples.size() == 2);
  for (const auto& [pid, sample] : samples) CHECK(memory_is_unknown(sample));
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
  CHECK(asking.asked == Pids{3, 3});
}
