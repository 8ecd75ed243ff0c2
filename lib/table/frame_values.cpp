// SPDX-License-Identifier: Apache-2.0
#include "table/frame_values.hpp"

#include <algorithm>
#include <cstring>

#include "base/utf8.hpp"

namespace tracer::internal {
namespace {

bool is_ascii(std::string_view text) noexcept {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080u) != 0) return false;
  }
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0x80u) != 0) return false;
  return true;
}

constexpr RowValues kNone{{}, nullptr, 0, true};

std::uint64_t initial_of(const Origin& origin, Type type) noexcept {
  return type == Type::kText ? kEmptyText : origin.initial;
}

std::byte* clear_bits(Scratch& scratch, std::size_t rows) {
  scratch.bits.clear();
  scratch.bits.fill(rows / 8 + 1);
  return scratch.bits.data();
}
void set_bit(std::byte* bits, std::size_t at) noexcept { bits[at / 8] |= static_cast<std::byte>(1u << (at % 8)); }

/// Where any column of a group has a value. Mostly all have the same presence.
RowValues presence_of(const Section& section, std::span<const std::size_t> columns, std::size_t first,
                      std::size_t count, Scratch& scratch) {
  const Column* one = nullptr;
  bool same = true;
  for (const std::size_t at : columns) {
    const Column& column = section.columns[at];
    if (!column.stored) continue;
    if (column.presence.empty()) return {};
    same = same && (one == nullptr || one->presence.data() == column.presence.data());
    one = &column;
  }
  if (one == nullptr) return kNone;
  if (same) return {{}, one->presence.data(), first, false};
  std::byte* const bits = clear_bits(scratch, count);
  for (const std::size_t at : columns) {
    const Column& column = section.columns[at];
    for (std::size_t i = 0; column.stored && i < count; ++i)
      if (column.present(first + i)) set_bit(bits, i);
  }
  return {{}, bits, 0, false};
}

}  // namespace

std::string to_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

void FrameValues::open(const ColumnFrame& frame) {
  frame_ = &frame;
  texts_ = frame.texts();
  contexts_.assign(frame.part(kPlaceOfPart<Context>).rows, 0);
  repaired_.clear();
  repairs_.clear();
  for (std::size_t i = 0; i < frame.texts().size(); ++i) {
    const std::string_view text = frame.texts()[i];
    if (is_ascii(text) || is_utf8(text)) continue;
    if (repaired_.empty()) repaired_.assign(frame.texts().begin(), frame.texts().end());
    repaired_[i] = repairs_.emplace_back(to_utf8(text));
  }
  if (!repaired_.empty()) texts_ = repaired_;
}

RowValues FrameValues::values(std::size_t place, const Origin& origin, Type type, std::size_t first, std::size_t count,
                              Scratch& scratch) {
  if (origin.column == kNowhere) return kNone;
  if (origin.in_part()) return part_values(place, origin, first, count, scratch);
  return values_in(frame_->kind(place), origin, type, first, count, scratch);
}

RowValues FrameValues::values_in(const Section& section, const Origin& origin, Type type, std::size_t first,
                                 std::size_t count, Scratch& scratch) {
  const Column& column = section.columns[origin.column];
  if (origin.optional && !column.stored) return kNone;
  RowValues values;
  const bool whole = column.stored && column.presence.empty();
  if (origin.optional) {
    values.bits = whole ? nullptr : column.presence.data();
    values.first_bit = first;
  } else if (!origin.group_columns.empty()) {
    values = presence_of(section, origin.group_columns, first, count, scratch);
    if (values.none) return kNone;
  }
  if (whole || (column.stored && values.bits == column.presence.data())) {
    values.numbers = std::span(column.values).subspan(first, count);
    return values;
  }
  scratch.numbers.assign(count, initial_of(origin, type));
  for (std::size_t i = 0; column.stored && i < count; ++i)
    if (column.present(first + i)) scratch.numbers[i] = column.values[first + i];
  values.numbers = scratch.numbers;
  return values;
}

RowValues FrameValues::part_values(std::size_t place, const Origin& origin, std::size_t first, std::size_t count,
                                   Scratch& scratch) {
  const Column& link = frame_->kind(place).columns[origin.part_column];
  const Column& column = frame_->part(origin.part).columns[origin.column];
  if (!link.stored || (origin.optional && !column.stored)) return kNone;
  scratch.numbers.resize(count);
  std::uint64_t* const numbers = scratch.numbers.data();
  if (origin.optional && link.presence.empty() && column.presence.empty()) {
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = column.values[static_cast<std::size_t>(link.values[first + i])];
    return {scratch.numbers, nullptr, 0, false};
  }
  std::byte* const bits = clear_bits(scratch, count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = origin.initial;
    if (!link.present(first + i)) continue;
    const auto row = static_cast<std::size_t>(link.values[first + i]);
    const bool has_value = column.present(row);
    if (has_value) numbers[i] = column.values[row];
    if (origin.optional ? has_value : context_says_something(row)) set_bit(bits, i);
  }
  return {scratch.numbers, bits, 0, false};
}

bool FrameValues::context_says_something(std::size_t row) {
  std::uint8_t& known = contexts_[row];
  if (known == 0) {
    known = 1;
    const auto specs = kPartSpecs[kPlaceOfPart<Context>];
    const Section& section = frame_->part(kPlaceOfPart<Context>);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Column& column = section.columns[i];
      if (specs[i].list >= 0 || !column.present(row)) continue;
      const bool is_list = specs[i].role == Role::kList || specs[i].type == Type::kTexts;
      const bool is_flag = specs[i].type == Type::kBool && !is_list;
      if (is_list ? column.values[row + 1] != column.values[row] : !is_flag || column.values[row] != 0) known = 2;
    }
  }
  return known == 2;
}

std::size_t FrameValues::list_row(std::size_t place, const Origin& origin, std::size_t row) {
  if (origin.column == kNowhere) return kNowhere;
  if (!origin.in_part()) {
    return !origin.optional || frame_->kind(place).columns[origin.column].present(row) ? row : kNowhere;
  }
  const Column& link = frame_->kind(place).columns[origin.part_column];
  if (!link.present(row)) return kNowhere;
  const auto part_row = static_cast<std::size_t>(link.values[row]);
  if (origin.optional) return frame_->part(origin.part).columns[origin.column].present(part_row) ? part_row : kNowhere;
  return !origin.in_context() || context_says_something(part_row) ? part_row : kNowhere;
}

const Section& FrameValues::list_section(std::size_t place, const Origin& origin) const noexcept {
  return origin.in_part() ? frame_->part(origin.part) : frame_->kind(place);
}

}  // namespace tracer::internal
