// SPDX-License-Identifier: Apache-2.0
#include "stream/number_array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace tracer::internal {
namespace {

/// The first byte of an array: the width of its planes, and one of these.
constexpr std::uint8_t kDeltas = 0x10;
constexpr std::uint8_t kTable = 0x20;
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

/// The different numbers of an array that has few of them.
class NumberTable {
 public:
  /// False: there are too many for a table to be worth it.
  bool fill(std::span<const std::uint64_t> numbers) {
    const std::size_t most = std::min(kMost, numbers.size() / 2);
    slots_.fill(0);
    size_ = 0;
    for (const std::uint64_t number : numbers) {
      std::uint16_t& slot = slot_of(number);
      if (slot != 0) continue;
      if (size_ == most) return false;
      numbers_[size_] = number;
      slot = static_cast<std::uint16_t>(++size_);
    }
    return true;
  }
  std::span<const std::uint64_t> numbers() const noexcept { return std::span(numbers_).first(size_); }
  std::uint64_t place_of(std::uint64_t number) noexcept { return slot_of(number) - 1u; }

  static constexpr std::size_t kMost = 256;

 private:
  std::uint16_t& slot_of(std::uint64_t number) noexcept {
    std::size_t at = static_cast<std::size_t>((number * 0x9e3779b97f4a7c15u) >> 54);
    while (slots_[at] != 0 && numbers_[slots_[at] - 1u] != number) at = (at + 1) % slots_.size();
    return slots_[at];
  }

  std::array<std::uint64_t, kMost> numbers_;
  std::array<std::uint16_t, 1024> slots_;  ///< Places in numbers_, from 1.
  std::size_t size_ = 0;
};

void put_coded(Bytes& out, std::span<const std::uint64_t> numbers, bool may_be_table) {
  if (numbers.empty()) return;
  // Many columns are constant, which takes little to see.
  if (std::all_of(numbers.begin(), numbers.end(), [&](std::uint64_t number) { return number == numbers[0]; })) {
    out.push_back(std::byte{kConstant});
    put_varint(out, numbers[0]);
    return;
  }
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
  NumberTable table;
  if (may_be_table && std::min(plain_width, step_width) > 1 && table.fill(numbers)) {
    out.push_back(std::byte{kTable});
    put_varint(out, table.numbers().size());
    put_coded(out, table.numbers(), false);
    put_planes(out, numbers.size(), 1, [numbers, &table](std::size_t i) { return table.place_of(numbers[i]); });
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

bool take_coded(ByteReader& in, std::span<std::uint64_t> out, bool may_be_table);

bool take_table(ByteReader& in, std::uint64_t size, std::span<std::uint64_t> out) {
  std::array<std::uint64_t, NumberTable::kMost> numbers;
  if (size == 0 || size > numbers.size()) return false;
  const auto used = std::span(numbers).first(static_cast<std::size_t>(size));
  if (!take_coded(in, used, false)) return false;
  const auto places = in.take(out.size());
  if (!in.good()) return false;
  std::byte largest{0};
  for (std::size_t i = 0; i < out.size(); ++i) largest = std::max(largest, places[i]);
  if (static_cast<std::size_t>(largest) >= used.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = used[static_cast<std::size_t>(places[i])];
  return true;
}

bool take_coded(ByteReader& in, std::span<std::uint64_t> out, bool may_be_table) {
  const std::uint8_t head = in.byte();
  const std::uint64_t base = in.varint();
  if (head == kTable) return may_be_table && take_table(in, base, out);
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

}  // namespace

void put_numbers(Bytes& out, std::span<const std::uint64_t> numbers) { put_coded(out, numbers, true); }

bool take_numbers(ByteReader& in, std::span<std::uint64_t> out) { return out.empty() || take_coded(in, out, true); }

}  // namespace tracer::internal
