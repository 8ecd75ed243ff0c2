// SPDX-License-Identifier: Apache-2.0
/// What the columns of tables take from a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/column_frame.hpp"
#include "table/memory.hpp"
#include "table/table_layout.hpp"

namespace tracer::internal {

/// With U+FFFD for each byte that is not UTF-8.
std::string to_utf8(std::string_view text);

/// In place of the number of a text: "".
inline constexpr std::uint64_t kEmptyText = static_cast<std::uint64_t>(-1);

/// A number a row, as Column has them.
struct RowValues {
  std::span<const std::uint64_t> numbers;
  const std::byte* bits = nullptr;  ///< Null: all rows have a value.
  std::size_t first_bit = 0;
  bool none = false;  ///< No row has a value, and the rest means nothing.

  bool present(std::size_t row) const noexcept { return bits == nullptr || bit_at(bits, first_bit + row); }
};

/// Room for values that no column of a frame has as they are needed.
struct Scratch {
  std::vector<std::uint64_t> numbers;
  Buffer<std::byte> bits;
};

/// A frame that rows are taken from.
class FrameValues {
 public:
  /// `frame` must not change until the next call.
  void open(const ColumnFrame& frame);
  const ColumnFrame& frame() const noexcept { return *frame_; }

  /// UTF-8, all of them.
  std::span<const std::string_view> texts() const noexcept { return texts_; }
  /// Of the rows from `first` on of the kind at `place`. Valid until `scratch` is used again.
  RowValues values(std::size_t place, const Origin& origin, Type type, std::size_t first, std::size_t count,
                   Scratch& scratch);
  /// The same in a list, whose items have rows of their own in `section`.
  static RowValues values_in(const Section& section, const Origin& origin, Type type, std::size_t first,
                             std::size_t count, Scratch& scratch);

  /// Where the list of a row is: its column's row; kNowhere: null.
  std::size_t list_row(std::size_t place, const Origin& origin, std::size_t row);
  const Section& list_section(std::size_t place, const Origin& origin) const noexcept;

 private:
  RowValues part_values(std::size_t place, const Origin& origin, std::size_t first, std::size_t count,
                        Scratch& scratch);
  /// A context that says nothing is null altogether, as in JSON.
  bool context_says_something(std::size_t row);

  const ColumnFrame* frame_ = nullptr;
  std::span<const std::string_view> texts_;
  std::vector<std::string_view> repaired_;
  std::deque<std::string> repairs_;
  std::vector<std::uint8_t> contexts_;  ///< 0: not looked at yet; 1: says nothing; 2: something.
};

}  // namespace tracer::internal
