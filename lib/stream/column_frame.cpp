// SPDX-License-Identifier: Apache-2.0
#include "stream/column_frame.hpp"

#include <algorithm>

#include "stream/number_array.hpp"
#include "stream/section_decoder.hpp"

namespace tracer::internal {

std::size_t place_of_kind(std::uint64_t number) noexcept {
  const auto found = std::find_if(kKindNumbers.begin(), kKindNumbers.end(),
                                  [number](EventKind kind) { return static_cast<std::uint64_t>(kind) == number; });
  return static_cast<std::size_t>(found - kKindNumbers.begin());
}

ColumnFrame::ColumnFrame() {
  for (std::size_t place = 0; place < kParts; ++place) parts_[place].columns.resize(kPartSpecs[place].size());
  for (std::size_t place = 0; place < kKinds; ++place) kinds_[place].columns.resize(kKindSpecs[place].size());
}

void ColumnFrame::clear() noexcept {
  texts_.clear();
  for (Section& part : parts_) part.rows = 0;
  for (Section& kind : kinds_) kind.rows = 0;
  rows_ = 0;
  unknown_rows_ = 0;
  place_of_section_.clear();
  order_ = {};
}

bool ColumnFrame::decode(std::span<const std::byte> payload, const FrameBounds& bounds) {
  clear();
  things_left_ = bounds.things;
  most_charge_bytes_ = bounds.charge_bytes;
  ByteReader in(payload);
  clock_ = {};
  clock_.boot_ns = in.u64();
  clock_.wall_offset_ns = in.u64();
  const bool good = decode_texts(in) && decode_parts(in) && decode_kinds(in) && in.good();
  if (!good) clear();
  return good;
}

bool ColumnFrame::decode_texts(ByteReader& in) {
  const std::uint64_t count = in.varint();
  if (!in.good() || count > std::min(kMaxItems, things_left_)) return false;
  things_left_ -= static_cast<std::size_t>(count);
  sizes_.resize(static_cast<std::size_t>(count));
  if (!take_numbers(in, sizes_)) return false;
  texts_.reserve(sizes_.size());
  for (const std::uint64_t size : sizes_) {
    const auto bytes = in.take(size);
    if (!in.good()) return false;
    texts_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return true;
}

bool ColumnFrame::decode_parts(ByteReader& in) {
  const std::uint64_t sections = in.varint();
  if (!in.good() || sections > kMaxSections) return false;
  References references;
  references.texts = texts_;
  references.things_left = things_left_;
  for (std::uint64_t i = 0; i < sections; ++i) {
    const std::uint64_t number = in.varint();
    if (!in.good() || number == 0) return false;
    std::size_t rows = 0;
    if (number > kParts) {
      if (!skip_section(in, rows, references)) return false;
      continue;
    }
    Section& part = parts_[static_cast<std::size_t>(number) - 1];
    const auto specs = kPartSpecs[static_cast<std::size_t>(number) - 1];
    if (part.rows != 0 || !SectionDecoder(part, specs, references).decode(in) || part.rows == 0) return false;
  }
  text_bytes_left_ = references.text_bytes_left;
  things_left_ = references.things_left;
  return true;
}

bool ColumnFrame::decode_kinds(ByteReader& in) {
  const std::uint64_t sections = in.varint();
  if (!in.good() || sections > kMaxSections) return false;
  References references;
  references.texts = texts_;
  references.text_bytes_left = text_bytes_left_;
  references.things_left = things_left_;
  for (std::size_t place = 0; place < kParts; ++place) references.part_rows[place] = parts_[place].rows;
  std::vector<std::size_t>& left = rows_of_section_;
  left.clear();
  for (std::uint64_t i = 0; i < sections; ++i) {
    const std::uint64_t number = in.varint();
    const std::size_t known = place_of_kind(number);
    const std::size_t place = known != kKinds && left_out_[known] ? kKinds : known;
    std::size_t rows = 0;
    if (!in.good()) return false;
    if (place == kKinds) {
      if (!skip_section(in, rows, references)) return false;
      if (known == kKinds) unknown_rows_ += rows;
    } else {
      Section& kind = kinds_[place];
      if (kind.rows != 0 || !SectionDecoder(kind, kKindSpecs[place], references).decode(in)) return false;
      rows = kind.rows;
    }
    rows_ += rows;
    if (rows == 0 || rows_ > kMaxRows) return false;
    place_of_section_.push_back(static_cast<std::uint8_t>(place));
    left.push_back(rows);
  }
  if (sections > 1) {
    order_ = in.take(rows_);
    if (!in.good()) return false;
    for (const std::byte section : order_) {
      const auto at = static_cast<std::size_t>(section);
      if (at >= left.size() || left[at]-- == 0) return false;
    }
  }
  return true;
}

}  // namespace tracer::internal
