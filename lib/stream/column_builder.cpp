// SPDX-License-Identifier: Apache-2.0
#include "stream/column_builder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::size_t bytes_of_bits(std::size_t bits) { return (bits + 7) / 8; }

/// `count` set bits, and none after them.
Bytes set_bits(std::size_t count) {
  Bytes bits(bytes_of_bits(count), std::byte{0xff});
  if (count % 8 != 0) bits.back() = static_cast<std::byte>((1u << (count % 8)) - 1);
  return bits;
}

/// Columns of one group are absent together: what they have in common is stored once.
class PresenceList {
 public:
  void put(Bytes& out, std::span<const std::byte> bits, std::size_t rows) {
    if (bits.empty()) return put_varint(out, 0);
    // The same bytes can stand for another number of rows.
    const auto found = std::find_if(stored_.begin(), stored_.end(), [bits, rows](const Stored& other) {
      return other.rows == rows && std::equal(bits.begin(), bits.end(), other.bits.begin(), other.bits.end());
    });
    put_varint(out, static_cast<std::uint64_t>(found - stored_.begin()) + 1);
    if (found != stored_.end()) return;
    stored_.push_back({bits, rows});
    put_bytes(out, bits);
  }

 private:
  struct Stored {
    std::span<const std::byte> bits;
    std::size_t rows;
  };
  std::vector<Stored> stored_;
};

}  // namespace

void ColumnBuilder::mark(std::size_t row) {
  if (bits_.empty()) bits_ = set_bits(count_);
  bits_.resize(bytes_of_bits(row + 1));
  bits_[row / 8] |= static_cast<std::byte>(1u << (row % 8));
}

std::span<const std::byte> ColumnBuilder::presence(std::size_t rows) {
  if (count_ == rows) return {};
  if (bits_.empty()) bits_ = set_bits(count_);
  bits_.resize(bytes_of_bits(rows));
  return bits_;
}

void ColumnBuilder::clear() noexcept {
  count_ = 0;
  bits_.clear();
  items_.clear();
  item_count_ = 0;
}

std::size_t SectionBuilder::add_row() {
  if (rows == room_) {
    room_ = std::max<std::size_t>(32, 2 * room_);
    for (ColumnBuilder& column : columns) column.reserve(room_);
  }
  return rows++;
}

void SectionBuilder::clear() noexcept {
  if (rows == 0) return;
  rows = 0;
  for (ColumnBuilder& column : columns) column.clear();
}

void put_section(Bytes& out, SectionBuilder& section, std::span<const ColumnSpec> specs) {
  put_varint(out, section.rows);
  put_varint(out, static_cast<std::uint64_t>(
                      std::count_if(section.columns.begin(), section.columns.end(),
                                    [](const ColumnBuilder& column) { return !column.values().empty(); })));
  PresenceList presences;
  Bytes body;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ColumnBuilder& column = section.columns[i];
    const ColumnSpec& spec = specs[i];
    if (column.values().empty()) continue;
    const std::size_t rows =
        spec.list < 0 ? section.rows : section.columns[static_cast<std::size_t>(spec.list)].item_count();
    body.clear();
    presences.put(body, column.presence(rows), rows);
    put_numbers(body, column.values());
    put_numbers(body, column.items());
    for (unsigned level = 0; level < spec.depth; ++level)
      out.push_back(static_cast<std::byte>((spec.path >> (40 - 8 * level)) & 0xffu));
    out.push_back(std::byte{0});
    put_varint(out, body.size());
    put_bytes(out, body);
  }
}

std::uint32_t TextTable::number_of(std::string_view text) {
  const auto found = index_.find_or_make(std::hash<std::string_view>()(text), [&](std::uint32_t number) {
    return std::string_view(bytes_).substr(begins_[number], sizes_[number]) == text;
  });
  if (found.made) {
    begins_.push_back(bytes_.size());
    sizes_.push_back(text.size());
    bytes_ += text;
  }
  referred_bytes_ += text.size();
  return found.number;
}

void TextTable::put(Bytes& out) const {
  put_varint(out, sizes_.size());
  put_numbers(out, sizes_);
  put_bytes(out, std::as_bytes(std::span(bytes_)));
}

void TextTable::clear() noexcept {
  index_.clear();
  bytes_.clear();
  begins_.clear();
  sizes_.clear();
  referred_bytes_ = 0;
}

}  // namespace tracer::internal
