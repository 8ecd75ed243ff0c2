// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/counter.hpp"
#include "source/feed.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// Turns the kernel's records, as in bpf/wire.h, into records; hostile input. Keeps only counts, which any thread may
/// read.
class Decoder {
 public:
  /// Absent: counted as a loss.
  std::optional<Record> decode(std::span<const std::byte> bytes);
  /// Hands on what it decodes. Out of memory is counted as a loss, too.
  void feed(std::span<const std::byte> bytes, Feed& feed) noexcept;
  void count_out_of_memory() noexcept { out_of_memory_.add(1); }

  std::uint64_t malformed() const noexcept { return malformed_.value(); }
  std::uint64_t unknown_kinds() const noexcept { return unknown_kinds_.value(); }
  /// Records, their bytes, and losses.
  void add_to(Counters& counters) const;

 private:
  Counter records_;
  Counter record_bytes_;
  Counter malformed_;
  Counter unknown_kinds_;
  Counter out_of_memory_;
};

/// The time in a record's header; 0 when it is too short for one.
std::uint64_t time_of_wire(std::span<const std::byte> bytes) noexcept;

}  // namespace tracer::internal
