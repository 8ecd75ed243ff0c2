// SPDX-License-Identifier: Apache-2.0
/// Arrays of numbers, coded so that zstd finds them small and a reader is done with them fast.
#pragma once

#include <cstdint>
#include <span>

#include "stream/bytes.hpp"

namespace tracer::internal {

constexpr std::uint64_t zigzag(std::uint64_t two_complement) noexcept {
  return (two_complement << 1) ^ (0 - (two_complement >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) noexcept { return (value >> 1) ^ (0 - (value & 1)); }

/// Appends the array; its size is known to the reader from elsewhere. An empty one takes no bytes.
void put_numbers(Bytes& out, std::span<const std::uint64_t> numbers);

/// Fills `out`. False: these bytes are no such array.
bool take_numbers(ByteReader& in, std::span<std::uint64_t> out);

}  // namespace tracer::internal
