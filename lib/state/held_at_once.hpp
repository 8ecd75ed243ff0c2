// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracer::internal {

/// An upper bound of what several held at once: the most, at any time, of the sum of the peaks of those that lived
/// then. They may be told of in any order. Bounded: of more than kMostSpans spans of time, neighbors become one with
/// the larger sum.
class HeldAtOnce {
 public:
  static constexpr std::size_t kMostSpans = 512;

  /// It lived from `begin_ns` to `end_ns`, and held at most `bytes`.
  void add(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes);
  void add(const HeldAtOnce& other);
  std::uint64_t most_bytes() const noexcept { return most_bytes_; }

 private:
  /// From its time to that of the next, the last one for ever.
  struct Span {
    std::uint64_t begin_ns;
    std::uint64_t bytes;
  };

  std::size_t split(std::uint64_t at_ns);
  void halve();

  std::vector<Span> spans_;
  std::uint64_t most_bytes_ = 0;
};

}  // namespace tracer::internal
