// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "source/records.hpp"

namespace tracer {

/// Turns wire records into records; hostile input. Keeps only counts.
class Decoder {
 public:
  /// Absent: counted in one of the two below.
  std::optional<Record> decode(std::span<const std::byte> bytes);
  std::uint64_t malformed() const noexcept { return malformed_; }
  std::uint64_t unknown_kinds() const noexcept { return unknown_kinds_; }

 private:
  std::uint64_t malformed_ = 0;
  std::uint64_t unknown_kinds_ = 0;
};

}  // namespace tracer
