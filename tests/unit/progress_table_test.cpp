// SPDX-License-Identifier: Apache-2.0
#include "correlate/progress_table.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// What a process has open, by second.
class Reading {
 public:
  explicit Reading(std::uint64_t step_ns = kSecond) : step_ns_(step_ns) {}

  struct Open {
    std::string name;
    std::uint64_t position;
    std::uint64_t size;
    bool writable = false;
    bool readable = true;
  };

  std::optional<Progress> at_next(const std::vector<Open>& files, std::uint64_t start_ns = 1) {
    table.end_round();
    time_ns_ += step_ns_;
    for (const Open& file : files) add(file, start_ns);
    return table.of(9, start_ns);
  }
  void add(const Open& open, std::uint64_t start_ns = 1) {
    FileRecord file;
    file.pid = 9;
    file.start_ns = start_ns;
    file.time_ns = time_ns_;
    file.inode = std::hash<std::string>()(open.name);
    file.fd = static_cast<std::uint32_t>(file.inode % 1000);
    file.position_bytes = open.position;
    file.size_bytes = open.size;
    file.readable = open.readable;
    file.writable = open.writable;
    file.name = open.name;
    table.add(std::move(file));
  }

  ProgressTable table;

 private:
  std::uint64_t step_ns_;
  std::uint64_t time_ns_ = kSecond;
};

}  // namespace

TEST_CASE("progress is that of the file that moves, not of the largest one") {
  Reading reading;
  CHECK_FALSE(reading.at_next({{"reference", 300, 1000}, {"reads", 20, 100}}).has_value());
  const auto progress = reading.at_next({{"reference", 300, 1000}, {"reads", 30, 100}});
  REQUIRE(progress.has_value());
  CHECK(progress->file == "reads");
  CHECK(progress->position_bytes == 30);
  CHECK(progress->size_bytes == 100);
  CHECK(progress->bytes_per_s == 10);
  CHECK(progress->time_left_ns == 7 * kSecond);
}

TEST_CASE("a reference that was read to its end is no progress, before, while and after the reads are") {
  Reading reading;
  CHECK_FALSE(reading.at_next({{"reference", 400, 1000}}).has_value());
  CHECK(reading.at_next({{"reference", 900, 1000}})->file == "reference");
  CHECK_FALSE(reading.at_next({{"reference", 1000, 1000}}).has_value());
  CHECK_FALSE(reading.at_next({{"reference", 1000, 1000}, {"reads", 10, 100}}).has_value());
  CHECK(reading.at_next({{"reference", 1000, 1000}, {"reads", 20, 100}})->file == "reads");
}

TEST_CASE("a file that was read whole says nothing of the work that goes on") {
  Reading reading;
  reading.at_next({{"reads", 50, 100}});
  CHECK_FALSE(reading.at_next({{"reads", 100, 100}}).has_value());
  CHECK_FALSE(reading.at_next({{"reads", 100, 100}}).has_value());
}

TEST_CASE("of two that are read together it is the one of which more is left") {
  Reading reading;
  reading.at_next({{"R1", 10, 100}, {"R2", 10, 120}});
  CHECK(reading.at_next({{"R1", 20, 100}, {"R2", 20, 120}})->file == "R2");
  CHECK(reading.at_next({{"R2", 30, 120}, {"R1", 30, 100}})->file == "R2");
  CHECK(reading.at_next({{"R1", 90, 100}, {"R2", 120, 120}})->file == "R1");
}

TEST_CASE("a file that grows has no end that could be told") {
  Reading reading;
  reading.at_next({{"log", 50, 60}});
  CHECK_FALSE(reading.at_next({{"log", 60, 80}}).has_value());
  CHECK_FALSE(reading.at_next({{"log", 70, 80}}).has_value());
}

TEST_CASE("what does not move was never seen to be read: read at a position, or mapped") {
  Reading reading;
  for (int round = 0; round < 5; ++round) CHECK_FALSE(reading.at_next({{"index", 64, 1000}}).has_value());
  CHECK_FALSE(reading.at_next({{"index", 0, 1000}}).has_value());
}

TEST_CASE("what jumps back begins anew") {
  Reading reading;
  reading.at_next({{"bam", 500, 1000}});
  CHECK(reading.at_next({{"bam", 600, 1000}}).has_value());
  CHECK_FALSE(reading.at_next({{"bam", 100, 1000}}).has_value());
  CHECK(reading.at_next({{"bam", 150, 1000}})->bytes_per_s == 50);
}

TEST_CASE("one that moved and stands still has a rate of zero, and gives way to one that moves") {
  Reading reading;
  reading.at_next({{"a", 10, 1000}});
  reading.at_next({{"a", 20, 1000}});
  const auto still = reading.at_next({{"a", 20, 1000}});
  REQUIRE(still.has_value());
  CHECK(still->bytes_per_s == 0);
  CHECK_FALSE(still->time_left_ns.has_value());
  reading.at_next({{"a", 20, 1000}, {"b", 5, 50}});
  CHECK(reading.at_next({{"a", 20, 1000}, {"b", 9, 50}})->file == "b");
}

TEST_CASE("the rate is that of about a second, however often there are snapshots") {
  Reading reading(kSecond / 5);
  std::uint64_t position = 0;
  std::optional<Progress> progress;
  // Bursts: nothing for four rounds, 100 in the fifth.
  for (int round = 0; round < 21; ++round)
    progress = reading.at_next({{"a", position += round % 5 == 0 ? 100u : 0u, 10'000}});
  REQUIRE(progress.has_value());
  REQUIRE(progress->bytes_per_s.has_value());
  CHECK(*progress->bytes_per_s >= 80);
  CHECK(*progress->bytes_per_s <= 180);
}

TEST_CASE("files that are written, or not open for reading, show no progress") {
  Reading reading;
  for (int round = 1; round < 4; ++round) {
    const auto position = static_cast<std::uint64_t>(10 * round);
    CHECK_FALSE(reading.at_next({{"a", position, 100, true}, {"b", position, 100, false, false}}).has_value());
  }
}

TEST_CASE("progress is not that of an earlier process with the same pid") {
  Reading reading;
  reading.at_next({{"a", 10, 100}}, 1);
  CHECK_FALSE(reading.at_next({{"a", 20, 100}}, 2).has_value());
  CHECK(reading.at_next({{"a", 30, 100}}, 2).has_value());
  CHECK_FALSE(reading.table.of(9, 1).has_value());
  CHECK_FALSE(reading.table.of(8, 2).has_value());
}

TEST_CASE("what was cleared is no base of a rate, and leaves the base before as it was") {
  Reading reading;
  reading.at_next({{"a", 100, 1000}});
  reading.table.end_round();
  reading.add({"a", 800, 1000});
  reading.table.clear();
  CHECK_FALSE(reading.table.of(9, 1).has_value());
}
