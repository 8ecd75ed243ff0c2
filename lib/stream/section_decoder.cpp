// SPDX-License-Identifier: Apache-2.0
#include "stream/section_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "stream/number_array.hpp"

namespace tracer::internal {
namespace {

constexpr unsigned kMaxDepth = 5;
constexpr FieldId kNoPath = 0;

/// Field numbers from the top, then a 0.
FieldId take_path(ByteReader& in) noexcept {
  FieldId path = 0;
  for (unsigned level = 0; level <= kMaxDepth + 1; ++level) {
    const std::uint8_t number = in.byte();
    if (number == 0) return path;
    if (level > kMaxDepth) break;
    path = field_id_below(path, level, number);
  }
  return kNoPath;
}

/// Of the first `count` bits; npos if any bit is set behind them.
std::size_t count_bits(std::span<const std::byte> bits, std::size_t count) noexcept {
  std::size_t set = 0;
  std::size_t at = 0;
  for (; at + 8 <= bits.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits.data() + at, sizeof word);
    set += static_cast<std::size_t>(std::popcount(word));
  }
  for (; at < bits.size(); ++at) set += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(bits[at])));
  const bool clean = count % 8 == 0 || (static_cast<unsigned>(bits.back()) >> (count % 8)) == 0;
  return clean ? set : std::string_view::npos;
}

/// From the values of the rows that have one, in front, to one value a row.
void spread(std::span<std::uint64_t> values, std::size_t present, std::span<const std::byte> bits) noexcept {
  std::size_t left = present;
  for (std::size_t row = values.size(); row-- > 0;) {
    const std::uint64_t bit = (static_cast<std::uint64_t>(bits[row / 8]) >> (row % 8)) & 1u;
    left -= bit;
    values[row] = values[left] & (0 - bit);
  }
}

std::uint64_t all_bits(std::span<const std::uint64_t> values) noexcept {
  std::uint64_t bits = 0;
  for (const std::uint64_t value : values) bits |= value;
  return bits;
}

std::uint64_t largest(std::span<const std::uint64_t> values) noexcept {
  std::uint64_t most = 0;
  for (const std::uint64_t value : values) most = std::max(most, value);
  return most;
}

}  // namespace

bool SectionDecoder::decode(ByteReader& in) {
  for (Column& column : section_.columns) column.stored = false;
  section_.rows = 0;
  const std::uint64_t rows = in.varint();
  const std::uint64_t columns = in.varint();
  if (!in.good() || rows > kMaxRows || columns > kMaxColumns || !references_.take_things(rows)) return false;
  section_.rows = static_cast<std::size_t>(rows);
  for (std::uint64_t i = 0; i < columns; ++i) {
    const FieldId path = take_path(in);
    ByteReader body(in.take(in.varint()));
    if (!in.good() || path == kNoPath) return false;
    const std::size_t place = find(path);
    if (place == specs_.size()) continue;
    Column& column = section_.columns[place];
    if (column.stored || !decode_column(body, specs_[place], column) || !body.good() || !body.empty()) return false;
    column.stored = true;
  }
  return true;
}

std::size_t SectionDecoder::find(FieldId path) noexcept {
  for (std::size_t tried = 0; tried < specs_.size(); ++tried) {
    const std::size_t place = next_ < specs_.size() ? next_ : 0;
    next_ = place + 1;
    if (specs_[place].path == path) return place;
  }
  return specs_.size();
}

std::size_t SectionDecoder::rows_of(const ColumnSpec& spec) const noexcept {
  if (spec.list < 0) return section_.rows;
  const Column& list = section_.columns[static_cast<std::size_t>(spec.list)];
  return list.stored ? static_cast<std::size_t>(list.values.back()) : 0;
}

bool SectionDecoder::take_presence(ByteReader& in, std::size_t rows, Presence& presence) {
  const std::uint64_t which = in.varint();
  if (!in.good() || which > presences_.size() + 1) return false;
  if (which == 0) {
    presence = {{}, rows, rows};
    return true;
  }
  if (which <= presences_.size()) {
    presence = presences_[static_cast<std::size_t>(which) - 1];
    return presence.rows == rows;
  }
  const auto bits = in.take((rows + 7) / 8);
  if (!in.good() || bits.empty()) return false;
  presence = {bits, rows, count_bits(bits, rows)};
  if (presence.present > rows) return false;
  presences_.push_back(presence);
  return true;
}

bool SectionDecoder::decode_column(ByteReader& in, const ColumnSpec& spec, Column& column) {
  const std::size_t rows = rows_of(spec);
  Presence presence;
  if (rows == 0 || !take_presence(in, rows, presence)) return false;
  column.presence = presence.bits;
  if (spec.role == Role::kList || (spec.role == Role::kValue && spec.type == Type::kTexts))
    return decode_list(in, spec, rows, presence.present, column);
  column.values.resize(rows);
  const auto values = std::span(column.values).first(presence.present);
  if (!take_numbers(in, values) || !check(spec, values)) return false;
  if (!presence.bits.empty()) spread(column.values, presence.present, presence.bits);
  return true;
}

bool SectionDecoder::decode_list(ByteReader& in, const ColumnSpec& spec, std::size_t rows, std::size_t present,
                                 Column& column) {
  column.values.resize(rows + 1);
  const auto sizes = std::span(column.values).first(rows);
  if (!take_numbers(in, sizes.first(present))) return false;
  if (!column.presence.empty()) spread(sizes, present, column.presence);
  std::uint64_t items = 0;
  for (std::uint64_t& value : sizes) {
    const std::uint64_t size = value;
    if (size > kMaxItems - items) return false;
    value = items;
    items += size;
  }
  column.values.back() = items;
  if (!references_.take_things(items)) return false;
  if (spec.role == Role::kList) return true;
  column.items.resize(static_cast<std::size_t>(items));
  return take_numbers(in, column.items) && check_texts(column.items);
}

bool SectionDecoder::check(const ColumnSpec& spec, std::span<std::uint64_t> values) {
  if (spec.role == Role::kPart) return values.empty() || largest(values) < references_.part_rows[spec.part];
  switch (spec.type) {
    case Type::kU64:
    case Type::kKey:
    case Type::kTexts: return true;
    case Type::kBool: return all_bits(values) <= 1;
    case Type::kEnum: return all_bits(values) <= std::numeric_limits<std::uint16_t>::max();
    case Type::kU32: return all_bits(values) <= std::numeric_limits<std::uint32_t>::max();
    case Type::kI32:
      if (all_bits(values) > std::numeric_limits<std::uint32_t>::max()) return false;
      [[fallthrough]];
    case Type::kI64:
      for (std::uint64_t& value : values) value = unzigzag(value);
      return true;
    case Type::kText: return check_texts(values);
  }
  return false;
}

bool SectionDecoder::check_texts(std::span<const std::uint64_t> numbers) {
  std::size_t bytes = 0;
  for (const std::uint64_t number : numbers) {
    if (number >= references_.texts.size()) return false;
    bytes += references_.texts[static_cast<std::size_t>(number)].size();
  }
  if (bytes > references_.text_bytes_left) return false;
  references_.text_bytes_left -= bytes;
  return true;
}

bool skip_section(ByteReader& in, std::size_t& rows, References& references) {
  const std::uint64_t count = in.varint();
  const std::uint64_t columns = in.varint();
  if (!in.good() || count > kMaxRows || columns > kMaxColumns || !references.take_things(count)) return false;
  rows = static_cast<std::size_t>(count);
  for (std::uint64_t i = 0; i < columns; ++i) {
    const FieldId path = take_path(in);
    in.take(in.varint());
    if (!in.good() || path == kNoPath) return false;
  }
  return true;
}

}  // namespace tracer::internal
