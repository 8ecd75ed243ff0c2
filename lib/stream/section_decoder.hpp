// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stream/column_frame.hpp"

namespace tracer::internal {

/// What the numbers in columns may refer to, and how much they still may.
struct References {
  std::span<const std::string_view> texts;
  std::array<std::size_t, kParts> part_rows{};
  std::size_t text_bytes_left = kMaxTextBytes;
  std::size_t things_left = 0;

  bool take_things(std::uint64_t count) noexcept {
    if (count > things_left) return false;
    things_left -= static_cast<std::size_t>(count);
    return true;
  }
};

/// Reads the columns of one kind or part. Every number is checked before it is used or room is made for it.
class SectionDecoder {
 public:
  SectionDecoder(Section& section, std::span<const ColumnSpec> specs, References& references) noexcept
      : section_(section), specs_(specs), references_(references) {}

  /// False: it breaks a rule.
  bool decode(ByteReader& in);

 private:
  struct Presence {
    std::span<const std::byte> bits;
    std::size_t rows = 0;
    std::size_t present = 0;
  };

  std::size_t find(FieldId path) noexcept;
  std::size_t rows_of(const ColumnSpec& spec) const noexcept;
  bool decode_column(ByteReader& in, const ColumnSpec& spec, Column& column);
  bool take_presence(ByteReader& in, std::size_t rows, Presence& presence);
  bool decode_list(ByteReader& in, const ColumnSpec& spec, std::size_t rows, std::size_t present, Column& column);
  bool check(const ColumnSpec& spec, std::span<std::uint64_t> values);
  bool check_texts(std::span<const std::uint64_t> numbers);

  Section& section_;
  std::span<const ColumnSpec> specs_;
  References& references_;
  std::vector<Presence> presences_;
  std::size_t next_ = 0;  ///< Writers follow the order of the specs: where the next column is likely to be.
};

/// Reads over a section of a kind or part that is not known.
bool skip_section(ByteReader& in, std::size_t& rows, References& references);

}  // namespace tracer::internal
