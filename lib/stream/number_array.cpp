// SPDX-License-Identifier: Apache-2.0
#include "stream/number_array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace tracer::internal {
namespace {

/// The first byte of an array: the width of its planes, and this.
constexpr std::uint8_t kDeltas = 0x10;
/// No planes: all numbers are the base.
constexpr unsigned kConstant = 0;

unsigned bytes_of(std::uint64_t value) noexcept { return (static_cast<unsigned>(std::bit_width(value)) + 7) / 8; }

/// All first bytes, then all second ones …: high bytes are mostly equal, and zstd sees them side by side.
template <class Get>
void put_planes(Bytes& out, std::size_t count, unsigned width, Get get) {
  const std::size_t begin = out.size();
  out.resize(begin + count * width);
  std::byte* planes = out.data() + begin;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = get(i);
    for (std::size_t plane = 0; plane < width; ++plane, value >>= 8)
      planes[plane * count + i] = static_cast<std::byte>(value & 0xffu);
  }
}

template <unsigned kWidth>
void take_planes(const std::byte* planes, std::span<std::uint64_t> out) noexcept {
  const std::size_t count = out.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    for (std::size_t plane = 0; plane < kWidth; ++plane)
      value |= static_cast<std::uint64_t>(planes[plane * count + i]) << (8 * plane);
    out[i] = value;
  }
}

using TakePlanes = void (*)(const std::byte*, std::span<std::uint64_t>) noexcept;
constexpr auto kTakePlanes = []<unsigned... kWidth>(std::integer_sequence<unsigned, kWidth...>) {
  return std::array<TakePlanes, sizeof...(kWidth)>{&take_planes<kWidth + 1>...};
}
(std::make_integer_sequence<unsigned, 8>());

}  // namespace

void put_numbers(Bytes& out, std::span<const std::uint64_t> numbers) {
  if (numbers.empty()) return;
  std::uint64_t least = numbers[0];
  std::uint64_t most = numbers[0];
  std::uint64_t steps = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    least = std::min(least, numbers[i]);
    most = std::max(most, numbers[i]);
    steps |= zigzag(numbers[i] - numbers[i - 1]);
  }
  const unsigned plain_width = bytes_of(most - least);
  const unsigned step_width = bytes_of(steps);
  if (plain_width == kConstant) {
    out.push_back(std::byte{kConstant});
    put_varint(out, least);
  } else if (step_width < plain_width) {
    out.push_back(static_cast<std::byte>(step_width | kDeltas));
    put_varint(out, numbers[0]);
    put_planes(out, numbers.size() - 1, step_width,
               [numbers](std::size_t i) { return zigzag(numbers[i + 1] - numbers[i]); });
  } else {
    out.push_back(static_cast<std::byte>(plain_width));
    put_varint(out, least);
    put_planes(out, numbers.size(), plain_width, [numbers, least](std::size_t i) { return numbers[i] - least; });
  }
}

bool take_numbers(ByteReader& in, std::span<std::uint64_t> out) {
  if (out.empty()) return true;
  const std::uint8_t head = in.byte();
  const std::uint64_t base = in.varint();
  const bool deltas = (head & kDeltas) != 0;
  const unsigned width = head & ~unsigned{kDeltas};
  if (!in.good() || width > 8 || (deltas && width == kConstant)) return false;
  if (width == kConstant) {
    std::fill(out.begin(), out.end(), base);
    return true;
  }
  const auto coded = out.subspan(deltas ? 1 : 0);
  const auto planes = in.take(std::uint64_t{width} * coded.size());
  if (!in.good()) return false;
  kTakePlanes[width - 1](planes.data(), coded);
  if (deltas) {
    out[0] = base;
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = out[i - 1] + unzigzag(out[i]);
  } else {
    for (std::uint64_t& number : out) number += base;
  }
  return true;
}

}  // namespace tracer::internal
