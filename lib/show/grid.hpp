// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tracer::internal {

enum class Align { kLeft, kRight };

/// Lines of cells in columns.
class Grid {
 public:
  explicit Grid(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns, or one or none: a line of its own, which does not widen its column.
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  /// Those with nothing below their head, the first line.
  void drop_empty_columns();
  void drop_column(std::size_t column);
  std::string text() const;
  /// Of its longest line.
  std::size_t width() const;
  const std::vector<Align>& columns() const noexcept { return columns_; }
  const std::vector<std::vector<std::string>>& lines() const noexcept { return lines_; }

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace tracer::internal
