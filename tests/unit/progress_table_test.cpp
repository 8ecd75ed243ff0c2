// SPDX-License-Identifier: Apache-2.0
#include "correlate/progress_table.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

FileRecord reads(std::uint64_t position, std::uint64_t size, std::uint64_t inode = 1) {
  FileRecord file;
  file.pid = 9;
  file.start_ns = 1;
  file.time_ns = kSecond;
  file.inode = inode;
  file.fd = static_cast<std::uint32_t>(inode);
  file.position_bytes = position;
  file.size_bytes = size;
  file.readable = true;
  file.name = "of " + std::to_string(inode);
  return file;
}

FileRecord later(FileRecord file, std::uint64_t moved) {
  file.time_ns += kSecond;
  file.position_bytes += moved;
  return file;
}

Progress second_of(const FileRecord& before, const FileRecord& now) {
  ProgressTable table;
  table.add(before);
  table.end_round();
  table.add(now);
  return table.of(9, 1).value();
}

}  // namespace

TEST_CASE("progress is that in the largest file, in any order") {
  for (const bool largest_first : {false, true}) {
    ProgressTable table;
    table.add(largest_first ? reads(50, 1000, 2) : reads(70, 100, 1));
    table.add(largest_first ? reads(70, 100, 1) : reads(50, 1000, 2));
    const Progress progress = table.of(9, 1).value();
    CHECK(progress.file == "of 2");
    CHECK(progress.position_bytes == 50);
    CHECK(progress.size_bytes == 1000);
    CHECK_FALSE(progress.bytes_per_s.has_value());
    CHECK_FALSE(progress.time_left_ns.has_value());
  }
}

TEST_CASE("files that are written, or not yet read from, show no progress") {
  ProgressTable table;
  FileRecord written = reads(10, 100);
  written.writable = true;
  FileRecord closed = reads(10, 100);
  closed.readable = false;
  for (const FileRecord& file : {written, closed, reads(0, 100)}) table.add(file);
  CHECK_FALSE(table.of(9, 1).has_value());
}

TEST_CASE("progress is not that of an earlier process with the same pid") {
  ProgressTable table;
  table.add(reads(10, 100));
  CHECK(table.of(9, 1).has_value());
  CHECK_FALSE(table.of(9, 2).has_value());
  CHECK_FALSE(table.of(8, 1).has_value());
}

TEST_CASE("the rate since the round before tells the time that is left") {
  const Progress progress = second_of(reads(100, 1000), later(reads(100, 1000), 300));
  CHECK(progress.position_bytes == 400);
  CHECK(progress.bytes_per_s == 300);
  CHECK(progress.time_left_ns == 2 * kSecond);
}

TEST_CASE("a file that stands still has a rate of zero and no time left") {
  const Progress progress = second_of(reads(100, 1000), later(reads(100, 1000), 0));
  CHECK(progress.bytes_per_s == 0);
  CHECK_FALSE(progress.time_left_ns.has_value());
}

TEST_CASE("another file, a step back or the same moment gives no rate") {
  CHECK_FALSE(second_of(reads(100, 1000), later(reads(100, 1000, 2), 300)).bytes_per_s.has_value());
  FileRecord back = later(reads(100, 1000), 0);
  back.position_bytes = 50;
  CHECK_FALSE(second_of(reads(100, 1000), back).bytes_per_s.has_value());
  CHECK_FALSE(second_of(reads(100, 1000), reads(200, 1000)).bytes_per_s.has_value());
}

TEST_CASE("a position beyond a file's end is its end") {
  const Progress progress = second_of(reads(100, 300), later(reads(100, 300), 900));
  CHECK(progress.position_bytes == 300);
  CHECK(progress.time_left_ns == 0);
}

TEST_CASE("what was cleared is no base of a rate, and leaves the base before as it was") {
  ProgressTable table;
  table.add(reads(100, 1000));
  table.end_round();
  table.add(later(reads(100, 1000), 700));
  table.clear();
  CHECK_FALSE(table.of(9, 1).has_value());
  table.add(later(reads(100, 1000), 300));
  CHECK(table.of(9, 1)->bytes_per_s == 300);
}
