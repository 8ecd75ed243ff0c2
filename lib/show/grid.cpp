// SPDX-License-Identifier: Apache-2.0
#include "show/grid.hpp"

#include <algorithm>

#include "show/character_width.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kGap = 2;

}  // namespace

std::vector<std::size_t> Grid::widths() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& line : lines_)
    if (line.size() == columns_.size())
      for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  return widths;
}

void Grid::drop_empty_columns() {
  for (std::size_t i = columns_.size(); i-- > 1;) {
    const auto is_empty = [&](const auto& line) { return line.size() != columns_.size() || line[i].empty(); };
    if (lines_.empty() || !std::all_of(lines_.begin() + 1, lines_.end(), is_empty)) continue;
    drop_column(i);
  }
}

void Grid::drop_column(std::size_t column) {
  for (auto& line : lines_)
    if (line.size() == columns_.size()) line.erase(line.begin() + static_cast<std::ptrdiff_t>(column));
  columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(column));
}

std::size_t Grid::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : widths()) sum += width + (sum == 0 ? 0 : kGap);
  return sum;
}

std::string Grid::text() const {
  const std::vector<std::size_t> columns = widths();
  std::string text;
  for (const auto& line : lines_) {
    const bool whole = line.size() == columns_.size();
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string padding(whole ? columns[i] - width_of(line[i]) : 0, ' ');
      if (i != 0) text.append(kGap, ' ');
      text += columns_[i] == Align::kLeft ? line[i] + padding : padding + line[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace tracer::internal
