// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counter.hpp"
#include "source/feed.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// How records of one kind, as in bpf/wire.h, are decoded. `decode` hands on what it makes of the bytes, which are as
/// many as the header says. False: they are too few or contradict themselves, and it has handed on nothing.
struct WireRecord {
  std::uint16_t kind = 0;
  bool (*decode)(std::span<const std::byte> bytes, Feed& feed) = nullptr;
};

/// A WireRecord's `decode`, for what becomes a record; `take` fills it in.
template <class R, bool (*take)(std::span<const std::byte> bytes, R& record)>
bool decode_as(std::span<const std::byte> bytes, Feed& feed) {
  // Made in its place, as it is large.
  Record record(std::in_place_type<R>);
  if (!take(bytes, std::get<R>(record))) return false;
  feed.record(record);
  return true;
}

/// Turns the kernel's records into records, each by its family; hostile input. Keeps only counts, which any thread may
/// read.
class Decoder {
 public:
  /// Of all families, loaded or not.
  Decoder();

  /// Hands on what it decodes. What it can't, and memory that was refused, is counted as a loss.
  void feed(std::span<const std::byte> bytes, Feed& feed) noexcept;

  std::uint64_t malformed() const noexcept { return malformed_.value(); }
  std::uint64_t unknown_kinds() const noexcept { return unknown_kinds_.value(); }
  /// Records, their bytes, and losses.
  void add_to(Counters& counters) const;

 private:
  std::array<decltype(WireRecord::decode), 64> decode_{};  ///< By kind.
  Counter records_;
  Counter record_bytes_;
  Counter malformed_;
  Counter unknown_kinds_;
  Counter out_of_memory_;
};

/// The time in a record's header; 0 when it is too short for one.
std::uint64_t time_of_wire(std::span<const std::byte> bytes) noexcept;

}  // namespace tracer::internal
