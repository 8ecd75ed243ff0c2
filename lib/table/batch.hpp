// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "table/columns.hpp"
#include "table/frame_values.hpp"
#include "table/table_layout.hpp"

namespace tracer::internal {

/// A batch of rows that grows by frames.
class Batch {
 public:
  Batch(const TableLayout& layout, std::size_t most_rows);

  /// The frame's rows from `first_row` on come next, those of the first `sources` of the layout only. Returns how many
  /// events were refused, as what they share would take more memory than a frame's may.
  std::size_t open(const ColumnFrame& frame, std::size_t first_row, std::size_t sources);
  /// Takes rows of the frame. False: none is left in it.
  bool take_rows();
  bool full() const noexcept;
  std::size_t rows() const noexcept { return rows_; }
  std::size_t text_bytes() const noexcept;
  /// About what its arrays take.
  std::size_t bytes() const noexcept;
  /// One row: a host.
  void add(const HostInfo& host);
  /// All rows as a struct; the batch is empty then.
  OwnedArray finish();
  /// Likewise, without the columns in which no row has a value; `schema` has the others.
  OwnedArray finish_known(OwnedSchema& schema);

 private:
  /// The rows of one kind that come next.
  struct Chunk {
    std::size_t first = 0;               ///< In the kind's section.
    std::vector<std::uint32_t> at = {};  ///< In the batch; empty if they follow each other.
    std::size_t count = 0;
  };
  OwnedArray finish(OwnedSchema* known);
  void find_rows(const ColumnFrame& frame, std::size_t first_row, std::size_t sources);
  std::size_t refuse_large();
  void append_flat(std::size_t column, std::size_t count);
  void append_list(std::size_t column, std::size_t count);
  RowValues values_of(std::size_t source, std::size_t column);
  RowValues unix_time_of(std::size_t source);
  RowValues wall_of(std::size_t source);
  bool has_list(std::size_t source, const Origin& origin) const noexcept;

  const TableLayout& layout_;
  std::size_t most_rows_;
  std::vector<std::unique_ptr<FlatColumn>> flats_;  ///< By column; null for lists.
  std::vector<std::unique_ptr<ListColumn>> lists_;
  std::size_t rows_ = 0;

  FrameValues frame_;
  std::vector<std::uint8_t> source_of_row_;  ///< Of the frame's rows that are rows of this table. Empty: one source.
  std::size_t only_source_ = 0;
  std::size_t rows_of_frame_ = 0;
  std::size_t next_ = 0;
  std::vector<Chunk> chunks_;  ///< By source.
  std::vector<std::size_t> list_rows_;
  Scratch scratch_;
  Scratch wall_scratch_;
  Scratch wall_;
};

}  // namespace tracer::internal
