// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tracer/recording.hpp>

#include "table/batch.hpp"
#include "table/table_layout.hpp"
#include "table/task_minutes.hpp"

namespace tracer::internal {

/// Rows of several tables, out of one recording after the other, each of which is read once. Of processes, those that
/// have ended.
class GatheredTables {
 public:
  struct Read {
    std::vector<std::size_t> rows;  ///< By table: that it has got.
    std::vector<Look> looks;        ///< At what lives on.
  };

  explicit GatheredTables(std::vector<TableLayout> layouts);

  /// The rest of a recording, for these tables. `before`: as the recording before it has returned them.
  Read read(RecordingReader& reader, std::span<const std::size_t> tables, std::vector<Look> before);
  /// About what all of it takes.
  std::size_t bytes() const noexcept;
  const TableLayout& layout(std::size_t table) const noexcept { return tables_[table]->layout; }
  /// All rows of a table so far, each batch with the columns that it has.
  std::vector<std::pair<OwnedSchema, OwnedArray>> take(std::size_t table);

 private:
  struct Gathered {
    explicit Gathered(TableLayout of) : layout(std::move(of)), batch(layout, static_cast<std::size_t>(-1)) {}

    void add(const ColumnFrame& frame, std::size_t first_row);
    void close();
    std::size_t rows() const noexcept { return closed_rows + batch.rows(); }

    TableLayout layout;
    Batch batch;
    std::vector<std::pair<OwnedSchema, OwnedArray>> closed;
    std::size_t closed_rows = 0;
    std::size_t closed_bytes = 0;
  };

  std::vector<std::unique_ptr<Gathered>> tables_;
};

}  // namespace tracer::internal
