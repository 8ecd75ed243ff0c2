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
  return table.of(9, 1);
}

}  // namespace

TEST_CASE("progress is that in the largest file, in any order") {
  for (const bool largest_first : {false, true}) {
    ProgressTable table;
    table.add(largest_first ? reads(50, 1000, 2) : reads(70, 100, 1));
    table.add(largest_first ? reads(70, 100, 1) : reads(50, 1000, 2));
    const Progress progress = table.of(9, 1);
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
  CHECK_FALSE(table.of(9, 1).file.has_value());
}

TEST_CASE("progress is not that of an earlier process with the same pid") {
  ProgressTable table;
  table.add(reads(10, 100));
  CHECK(table.of(9, 1).file.has_value());
  CHECK_FALSE(table.of(9, 2).file.has_value());
  CHECK_FALSE(table.of(8, 1).file.has_value());
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

TEST_CASE("what is set aside is no base of a rate, and leaves the base before as it was") {
  ProgressTable table;
  table.add(reads(100, 1000));
  table.end_round();
  table.add(later(reads(100, 1000), 700));
  (void)table.set_aside();
  CHECK_FALSE(table.of(9, 1).file.has_value());
  table.add(later(reads(100, 1000), 300));
  CHECK(table.of(9, 1).bytes_per_s == 300);
}

TEST_CASE("what is put back takes the place of what came meanwhile, and becomes the base of the next rates") {
  ProgressTable table;
  table.add(reads(100, 1000));
  table.end_round();
  table.add(later(reads(100, 1000), 200));
  ProgressTable aside = table.set_aside();
  FileRecord meanwhile = later(reads(100, 1000), 700);
  table.add(meanwhile);
  meanwhile.pid = 10;
  table.add(meanwhile);
  CHECK(table.of(9, 1).bytes_per_s == 700);
  table.put_back(std::move(aside));
  CHECK(table.of(9, 1).bytes_per_s == 200);
  CHECK_FALSE(table.of(10, 1).file.has_value());
  table.end_round();
  table.add(later(later(reads(100, 1000), 200), 50));
  CHECK(table.of(9, 1).bytes_per_s == 50);
}
