// SPDX-License-Identifier: Apache-2.0
/// What is between the kernel's rings and the decoder: how many there are, what is held of them, and in which order it
/// goes on.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "source/kernel/ring/held_records.hpp"
#include "source/kernel/ring/ring.hpp"
#include "source/kernel/ring/rings.hpp"
#include "source/kernel/ring/time_merge.hpp"
#include "wire.h"

using namespace tracer::internal;

namespace {

using Bytes = std::vector<std::byte>;

/// Of this size, with this as its time; what is behind the header tells them apart.
Bytes record_at(std::uint64_t time_ns, std::size_t size = sizeof(tracer_wire_header), std::uint8_t filled_with = 0) {
  Bytes bytes(std::max(size, sizeof(tracer_wire_header)), std::byte{filled_with});
  tracer_wire_header header{};
  header.time_ns = time_ns;
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::uint64_t time_of(std::span<const std::byte> bytes) {
  tracer_wire_header header;
  REQUIRE(bytes.size() >= sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.time_ns;
}

Bytes copy_of(std::span<const std::byte> bytes) { return Bytes(bytes.begin(), bytes.end()); }

/// As the kernel lays records out in a ring.
std::size_t place_of(std::size_t size) { return (8 + size + 7) / 8 * 8; }

std::vector<std::uint64_t> released(TimeMerge& merge, std::uint64_t until_ns) {
  std::vector<std::uint64_t> times;
  CHECK_FALSE(merge.release(until_ns, [&](std::span<const std::byte> bytes) {
    times.push_back(time_of(bytes));
    return true;
  }));
  return times;
}

constexpr std::uint64_t kEnd = ~0ull;

}  // namespace

TEST_CASE("a ring for each group of CPUs: one below 8, sixteen at most") {
  const auto check = [](std::uint32_t cpus, std::uint32_t wanted, std::uint32_t rings, std::uint32_t cpus_of_each) {
    CAPTURE(cpus);
    CAPTURE(wanted);
    const RingLayout layout = ring_layout(cpus, 64u << 20, wanted);
    CHECK(layout.rings == rings);
    CHECK((1u << layout.cpus_shift) == cpus_of_each);
    // Each CPU has a ring, and each ring a CPU.
    CHECK(((std::max(cpus, 1u) - 1) >> layout.cpus_shift) == layout.rings - 1);
  };
  check(0, 0, 1, 1);
  check(1, 0, 1, 1);
  check(2, 0, 1, 2);
  check(6, 0, 1, 8);
  check(7, 0, 1, 8);
  check(8, 0, 2, 4);
  check(12, 0, 2, 8);
  check(16, 0, 4, 4);
  check(64, 0, 16, 4);
  check(96, 0, 12, 8);
  check(128, 0, 16, 8);
  check(1024, 0, 16, 64);
  check(2, 2, 2, 1);
  check(2, 1, 1, 2);
  check(2, 16, 2, 1);
  check(6, 4, 3, 2);
  for (std::uint32_t cpus = 1; cpus <= 1024; ++cpus) {
    const RingLayout layout = ring_layout(cpus, 64u << 20);
    CAPTURE(cpus);
    REQUIRE(layout.rings >= 1);
    REQUIRE(layout.rings <= 16);
    REQUIRE(((cpus - 1) >> layout.cpus_shift) == layout.rings - 1);
  }
}

TEST_CASE("several rings have together what one has, 64 KiB each at least, and each a power of two") {
  constexpr std::size_t kMiB = 1u << 20;
  const auto each_of = [](std::uint32_t cpus, std::size_t bytes) {
    return bytes_of_each(ring_layout(cpus, bytes), bytes);
  };
  CHECK(each_of(2, 8 * kMiB) == 8 * kMiB);
  CHECK(each_of(8, 8 * kMiB) == 4 * kMiB);
  CHECK(each_of(128, 8 * kMiB) == kMiB / 2);
  // Twelve of them.
  CHECK(each_of(96, 8 * kMiB) == kMiB / 2);
  // Where there is little, fewer rings, as each has to hold some execs.
  CHECK(each_of(128, 256u << 10) == 64u << 10);
  CHECK(ring_layout(128, 256u << 10).rings == 4);
  CHECK(ring_layout(128, 64u << 10).rings == 1);
  CHECK(each_of(128, 4096) == 4096);
  for (const std::uint32_t cpus : {1u, 6u, 8u, 96u, 1024u})
    for (std::size_t bytes = 64u << 10; bytes <= 1u << 31; bytes *= 2) {
      const std::size_t each = each_of(cpus, bytes);
      CHECK((each & (each - 1)) == 0);
      if (each > 64u << 10) CHECK(each * ring_layout(cpus, bytes).rings <= bytes);
    }
}

TEST_CASE("records that are held come out whole, in their order, and count as much as in a ring") {
  HeldRecords held;
  CHECK(held.empty());
  CHECK(held.bytes() == 0);
  std::vector<Bytes> all;
  std::size_t sum = 0;
  for (std::size_t size = 0; size < 40; ++size) {
    all.emplace_back(size, std::byte(size + 1));
    held.hold(all.back());
    sum += place_of(size);
    CHECK(held.bytes() == sum);
  }
  for (const Bytes& each : all) {
    REQUIRE_FALSE(held.empty());
    CHECK(copy_of(held.front()) == each);
    held.pop();
    sum -= place_of(each.size());
    CHECK(held.bytes() == sum);
  }
  CHECK(held.empty());
}

TEST_CASE("records are held and let go of in turns for long, and nothing is mixed up") {
  HeldRecords held;
  std::minstd_rand dice(4711);
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::size_t bytes = 0;
  const auto size_of = [](std::uint64_t n) { return sizeof(tracer_wire_header) + n * 37 % 600; };
  // Some hundred KiB lie in it, so that what is left is moved to the front again and again.
  for (int round = 0; round < 20'000; ++round) {
    if (in - out < 1000 && (in == out || dice() % 100 < 55)) {
      held.hold(record_at(in, size_of(in), static_cast<std::uint8_t>(in)));
      bytes += place_of(size_of(in++));
    } else {
      REQUIRE(copy_of(held.front()) == record_at(out, size_of(out), static_cast<std::uint8_t>(out)));
      held.pop();
      bytes -= place_of(size_of(out++));
    }
    REQUIRE(held.bytes() == bytes);
    REQUIRE(held.empty() == (in == out));
  }
}

TEST_CASE("records of several rings are given in the order of time") {
  TimeMerge merge(3);
  for (const std::uint64_t time : {10u, 40u, 50u}) merge.hold(0, record_at(time));
  for (const std::uint64_t time : {20u, 30u, 60u}) merge.hold(1, record_at(time));
  CHECK(merge.bytes() == merge.bytes(0) + merge.bytes(1));
  CHECK(merge.bytes(2) == 0);
  CHECK(released(merge, 9).empty());
  CHECK(released(merge, 40) == std::vector<std::uint64_t>{10, 20, 30, 40});
  merge.hold(2, record_at(45));
  CHECK(released(merge, kEnd) == std::vector<std::uint64_t>{45, 50, 60});
  CHECK(merge.bytes() == 0);
  CHECK(released(merge, kEnd).empty());
}

TEST_CASE("within a ring the order stays, though a time goes back") {
  TimeMerge merge(2);
  for (const std::uint64_t time : {10u, 30u, 25u, 35u}) merge.hold(0, record_at(time));
  merge.hold(1, record_at(27));
  // One that comes behind a later one is given when that is.
  CHECK(released(merge, 26) == std::vector<std::uint64_t>{10});
  CHECK(released(merge, 29) == std::vector<std::uint64_t>{27});
  CHECK(released(merge, kEnd) == std::vector<std::uint64_t>{30, 25, 35});
}

TEST_CASE("of records of the same time those of the first ring come first") {
  TimeMerge merge(2);
  merge.hold(1, record_at(5, 100, 1));
  merge.hold(0, record_at(5, 100, 0));
  std::vector<Bytes> given;
  merge.release(5, [&](std::span<const std::byte> bytes) {
    given.push_back(copy_of(bytes));
    return true;
  });
  CHECK(given == std::vector<Bytes>{record_at(5, 100, 0), record_at(5, 100, 1)});
}

TEST_CASE("who takes records may stop, or throw, and none is given twice or left out") {
  TimeMerge merge(2);
  for (std::uint64_t time = 0; time < 10; ++time) merge.hold(time % 2, record_at(time));
  std::vector<std::uint64_t> given;
  CHECK(merge.release(kEnd, [&](std::span<const std::byte> bytes) {
    given.push_back(time_of(bytes));
    return given.size() < 4;
  }));
  CHECK_THROWS_AS(merge.release(kEnd,
                                [&](std::span<const std::byte> bytes) -> bool {
                                  given.push_back(time_of(bytes));
                                  throw std::runtime_error("no");
                                }),
                  std::runtime_error);
  CHECK(given == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(released(merge, kEnd) == std::vector<std::uint64_t>{5, 6, 7, 8, 9});
}

TEST_CASE("a record that is too short for a header is given first, for the decoder to count") {
  TimeMerge merge(2);
  merge.hold(0, record_at(5));
  merge.hold(1, Bytes(3));
  std::vector<std::size_t> sizes;
  merge.release(0, [&](std::span<const std::byte> bytes) {
    sizes.push_back(bytes.size());
    return true;
  });
  CHECK(sizes == std::vector<std::size_t>{3});
  CHECK(released(merge, kEnd) == std::vector<std::uint64_t>{5});
}

namespace {

/// A ring's memory as the kernel maps it: twice in a row.
class Memory {
 public:
  static constexpr std::size_t kBytes = 256;
  /// As bpf_ringbuf_reserve(): what is there may be read from, and may not.
  void reserve(std::uint64_t at, std::size_t size) { set_length(at, static_cast<std::uint32_t>(size) | 1u << 31); }
  void commit(std::uint64_t at, const Bytes& record) {
    for (std::size_t i = 0; i < record.size(); ++i) put(at + 8 + i, record[i]);
    set_length(at, static_cast<std::uint32_t>(record.size()));
  }
  void discard(std::uint64_t at, std::size_t size) { set_length(at, static_cast<std::uint32_t>(size) | 1u << 30); }
  RingRecord record_at(std::uint64_t position) const { return record_in_ring(bytes_.data(), kBytes, position); }

 private:
  void set_length(std::uint64_t at, std::uint32_t length) {
    std::byte bytes[sizeof length];
    std::memcpy(bytes, &length, sizeof length);
    for (std::size_t i = 0; i < sizeof length; ++i) put(at + i, bytes[i]);
  }
  void put(std::uint64_t at, std::byte byte) { bytes_[at % kBytes] = bytes_[kBytes + at % kBytes] = byte; }

  alignas(8) std::array<std::byte, 2 * kBytes> bytes_{};
};

}  // namespace

TEST_CASE("a record in a ring is read when it is whole, around the ring's end, too") {
  Memory memory;
  for (const std::uint64_t round : {0u, 1u, 1000u}) {
    CAPTURE(round);
    // 200 bytes, which go beyond the end.
    const std::uint64_t at = round * Memory::kBytes + 120;
    memory.reserve(at, 200);
    CHECK_FALSE(memory.record_at(at).whole);
    const Bytes record = record_at(round, 200, 7);
    memory.commit(at, record);
    const RingRecord read = memory.record_at(at);
    CHECK(read.whole);
    CHECK_FALSE(read.discarded);
    CHECK(copy_of(read.bytes) == record);
    CHECK(read.next == at + 208);
  }
}

TEST_CASE("what claims to be longer than any record is cut at the end of what is mapped") {
  constexpr std::size_t kRing = 2 * kMostRecordBytes;
  std::vector<std::byte> memory(kRing + bytes_behind_end(kRing));
  const std::uint64_t at = kRing - 8;
  const std::uint32_t length = kMostRecordBytes + 1;
  std::memcpy(&memory[at], &length, sizeof length);
  const RingRecord read = record_in_ring(memory.data(), kRing, at);
  CHECK(read.whole);
  CHECK(read.bytes.size() == kMostRecordBytes);
  CHECK(&read.bytes.back() == &memory.back());
  CHECK(read.next == at + 8 + kMostRecordBytes + 8);
}

TEST_CASE("a record that was discarded, or is empty, takes its place and is passed over") {
  Memory memory;
  memory.discard(16, 13);
  const RingRecord gone = memory.record_at(16);
  CHECK(gone.whole);
  CHECK(gone.discarded);
  CHECK(gone.next == 16 + 24);
  memory.commit(40, {});
  const RingRecord empty = memory.record_at(40);
  CHECK(empty.whole);
  CHECK(empty.bytes.empty());
  CHECK(empty.next == 48);
}
