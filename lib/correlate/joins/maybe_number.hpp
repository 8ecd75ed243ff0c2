// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace tracer::internal {

/// A number that may be unknown, in half of an optional's memory.
class MaybeNumber {
 public:
  static constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() - 1;

  constexpr MaybeNumber() noexcept = default;
  constexpr MaybeNumber(std::uint64_t value) noexcept : value_(std::min(value, kMost)) {}  // NOLINT(*-explicit-*)
  constexpr MaybeNumber(const std::optional<std::uint64_t>& value) noexcept                // NOLINT(*-explicit-*)
      : value_(value ? std::min(*value, kMost) : kUnknown) {}

  constexpr bool known() const noexcept { return value_ != kUnknown; }
  constexpr std::uint64_t value_or(std::uint64_t other) const noexcept { return known() ? value_ : other; }
  constexpr std::optional<std::uint64_t> value() const noexcept {
    return known() ? std::optional(value_) : std::nullopt;
  }
  /// Unknown if one of both is.
  constexpr void add(const MaybeNumber& part) noexcept {
    if (!known() || !part.known()) {
      value_ = kUnknown;
    } else {
      value_ = value_ > kMost - part.value_ ? kMost : value_ + part.value_;
    }
  }

 private:
  static constexpr std::uint64_t kUnknown = kMost + 1;
  std::uint64_t value_ = kUnknown;
};

}  // namespace tracer::internal
