// SPDX-License-Identifier: Apache-2.0
/// A frame of events as the columns that it was written in. For tables, and for EventRows, which makes events of it.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "stream/column_layout.hpp"
#include "stream/frame.hpp"
#include "stream/frame_encoder.hpp"

namespace tracer::internal {

/// One field of all rows of a section. Its place is that of its spec in kKindSpecs or kPartSpecs.
struct Column {
  bool stored = false;  ///< False: absent in all rows, and the rest means nothing.
  /// One a row; 0 where absent. Signed numbers as two's complement; a text's number in ColumnFrame::texts(); a part's
  /// row. Of lists: where the row's items begin, and one more for the end.
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> items;     ///< Of lists of texts: their numbers.
  std::span<const std::byte> presence;  ///< A bit a row, from the lowest, as Arrow has it. Empty: present in all.

  bool present(std::size_t row) const noexcept {
    return stored && (presence.empty() || ((static_cast<unsigned>(presence[row / 8]) >> (row % 8)) & 1u) != 0);
  }
};

struct Section {
  std::size_t rows = 0;
  std::vector<Column> columns;
};

/// How much a frame may stand for.
struct FrameBounds {
  std::size_t things = std::numeric_limits<std::size_t>::max();  ///< As FrameEncoder::things().
  std::size_t charge_bytes = kMaxChargeBytes;  ///< Of all its events, as Event::charge_bytes() counts.

  static FrameBounds of_stored(std::size_t bytes) noexcept {
    return {bytes * kThingsPerByte, std::min(kMaxChargeBytes, bytes * kMostGrowth)};
  }
};

/// Of a kind by its number: its place in kKindSpecs; kKinds: it is not known.
std::size_t place_of_kind(std::uint64_t number) noexcept;

/// A bit for each place in kKindSpecs.
using KindSet = std::bitset<kKinds>;

/// Keeps its memory from one frame to the next.
class ColumnFrame {
 public:
  ColumnFrame();
  /// The payload must outlive what is read here. False: it breaks a rule of the format; nothing of it can be used.
  bool decode(std::span<const std::byte> payload, const FrameBounds& bounds = {});
  /// Frames that are decoded later have only events of these kinds; rows of others are as of kinds that are not known.
  void keep_only(const KindSet& kinds) noexcept { left_out_ = ~kinds; }
  std::size_t most_charge_bytes() const noexcept { return most_charge_bytes_; }

  const ClockUpdate& clock() const noexcept { return clock_; }
  std::span<const std::string_view> texts() const noexcept { return texts_; }
  const Section& part(std::size_t place) const noexcept { return parts_[place]; }
  const Section& kind(std::size_t place) const noexcept { return kinds_[place]; }
  /// Known or not.
  std::size_t rows() const noexcept { return rows_; }
  /// Of kinds that this version does not know, without those of keep_only().
  std::size_t unknown_rows() const noexcept { return unknown_rows_; }
  bool has_known_rows() const noexcept {
    return std::any_of(kinds_.begin(), kinds_.end(), [](const Section& kind) { return kind.rows != 0; });
  }
  /// The place in kKindSpecs of the event that is number `row` in the frame; kKinds if it is not known.
  std::size_t place_of_row(std::size_t row) const noexcept {
    return place_of_section_[order_.empty() ? 0 : static_cast<std::size_t>(order_[row])];
  }

 private:
  bool decode_texts(ByteReader& in);
  bool decode_parts(ByteReader& in);
  bool decode_kinds(ByteReader& in);
  void clear() noexcept;

  ClockUpdate clock_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::string_view> texts_;
  std::array<Section, kParts> parts_;
  std::array<Section, kKinds> kinds_;
  std::size_t text_bytes_left_ = 0;
  std::size_t things_left_ = 0;
  std::size_t most_charge_bytes_ = kMaxChargeBytes;
  std::size_t rows_ = 0;
  std::size_t unknown_rows_ = 0;
  KindSet left_out_;
  std::vector<std::size_t> rows_of_section_;
  std::vector<std::uint8_t> place_of_section_;
  std::span<const std::byte> order_;  ///< Empty: there is one section only.
};

}  // namespace tracer::internal
