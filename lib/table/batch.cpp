// SPDX-License-Identifier: Apache-2.0
#include "table/batch.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tracer::internal {
namespace {

/// Numbers of texts and items are 32 bits wide; also bounds what a batch takes.
constexpr std::size_t kMaxBatchTextBytes = 128u << 20;
constexpr std::size_t kItemBytes = 32;

/// What the lists in a row of a part take.
std::vector<std::size_t> list_bytes_of(const ColumnFrame& frame, std::size_t part) {
  const auto specs = kPartSpecs[part];
  const Section& section = frame.part(part);
  std::vector<std::size_t> bytes(section.rows, 0);
  const auto text_bytes = [&frame](std::uint64_t number) {
    return frame.texts()[static_cast<std::size_t>(number)].size();
  };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Column& column = section.columns[i];
    const bool texts = specs[i].role == Role::kValue && specs[i].type == Type::kTexts;
    if (!column.stored || (specs[i].role != Role::kList && !texts)) continue;
    for (std::size_t row = 0; row < section.rows; ++row) {
      const auto begin = static_cast<std::size_t>(column.values[row]);
      const auto end = static_cast<std::size_t>(column.values[row + 1]);
      bytes[row] += kItemBytes * (end - begin);
      for (std::size_t item = begin; texts && item < end; ++item) bytes[row] += text_bytes(column.items[item]);
      for (std::size_t below = i + 1; below < specs.size() && specs[below].list == static_cast<int>(i); ++below) {
        const Column& field = section.columns[below];
        if (!field.stored || specs[below].type != Type::kText) continue;
        for (std::size_t item = begin; item < end; ++item)
          if (field.present(item)) bytes[row] += text_bytes(field.values[item]);
      }
    }
  }
  return bytes;
}

}  // namespace

Batch::Batch(const TableLayout& layout, std::size_t most_rows)
    : layout_(layout),
      most_rows_(std::max<std::size_t>(most_rows, 1)),
      flats_(layout.columns.size()),
      lists_(layout.columns.size()),
      chunks_(layout.sources.size()) {
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (is_list(layout.columns[i])) {
      lists_[i] = std::make_unique<ListColumn>(layout.columns[i]);
    } else {
      flats_[i] = make_flat_column(layout.columns[i]);
    }
  }
}

std::size_t Batch::open(const ColumnFrame& frame, std::size_t first_row, std::size_t sources) {
  next_ = rows_of_frame_ = 0;
  source_of_row_.clear();
  find_rows(frame, first_row, sources);
  if (rows_of_frame_ == 0) return 0;
  frame_.open(frame);
  for (const auto& column : flats_)
    if (column) column->open_frame(frame_.texts());
  return refuse_large();
}

void Batch::find_rows(const ColumnFrame& frame, std::size_t first_row, std::size_t sources) {
  std::array<std::size_t, kKinds + 1> source_of_place;
  source_of_place.fill(kNowhere);
  std::size_t with_rows = 0;
  for (std::size_t i = 0; i < sources; ++i) {
    source_of_place[layout_.sources[i].place] = i;
    chunks_[i] = {};
    if (frame.kind(layout_.sources[i].place).rows == 0) continue;
    ++with_rows;
    only_source_ = i;
    rows_of_frame_ += frame.kind(layout_.sources[i].place).rows;
  }
  if (with_rows == 0) return;
  for (std::size_t row = 0; row < first_row; ++row) {
    const std::size_t source = source_of_place[frame.place_of_row(row)];
    if (source == kNowhere) continue;
    ++chunks_[source].first;
    --rows_of_frame_;
  }
  if (with_rows == 1) return;
  source_of_row_.reserve(rows_of_frame_);
  for (std::size_t row = first_row; row < frame.rows(); ++row) {
    const std::size_t source = source_of_place[frame.place_of_row(row)];
    if (source != kNowhere) source_of_row_.push_back(static_cast<std::uint8_t>(source));
  }
}

std::size_t Batch::refuse_large() {
  const ColumnFrame& frame = frame_.frame();
  std::array<std::vector<std::size_t>, kParts> bytes;
  std::size_t most = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    bytes[part] = list_bytes_of(frame, part);
    most += bytes[part].empty() ? 0 : *std::max_element(bytes[part].begin(), bytes[part].end());
  }
  constexpr std::size_t kPartsInARow = 2;
  if (most * kPartsInARow * rows_of_frame_ <= frame.most_charge_bytes()) return 0;
  std::vector<std::size_t> next(layout_.sources.size());
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = chunks_[i].first;
  std::size_t charged = 0;
  for (std::size_t i = 0; i < rows_of_frame_; ++i) {
    const std::size_t source = source_of_row_.empty() ? only_source_ : source_of_row_[i];
    const std::size_t row = next[source]++;
    const std::size_t place = layout_.sources[source].place;
    const auto specs = kKindSpecs[place];
    for (std::size_t column = 0; column < specs.size(); ++column) {
      const Column& link = frame.kind(place).columns[column];
      if (specs[column].role == Role::kPart && link.present(row))
        charged += bytes[specs[column].part][static_cast<std::size_t>(link.values[row])];
    }
    if (charged <= frame.most_charge_bytes()) continue;
    const std::size_t refused = rows_of_frame_ - i;
    rows_of_frame_ = i;
    return refused;
  }
  return 0;
}

bool Batch::full() const noexcept { return rows_ >= most_rows_ || text_bytes() >= kMaxBatchTextBytes; }

std::size_t Batch::text_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& column : flats_)
    if (column) bytes += column->text_bytes();
  for (const auto& column : lists_)
    if (column) bytes += column->text_bytes();
  return bytes;
}

bool Batch::take_rows() {
  const std::size_t count = std::min(rows_of_frame_ - next_, most_rows_ - std::min(rows_, most_rows_));
  if (count != 0) {
    const auto order = source_of_row_.empty() ? std::span<const std::uint8_t>()
                                              : std::span<const std::uint8_t>(source_of_row_).subspan(next_, count);
    for (Chunk& chunk : chunks_) chunk.count = 0;
    chunks_[only_source_].count = order.empty() ? count : 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      Chunk& chunk = chunks_[order[i]];
      if (chunk.count++ == 0) chunk.at.clear();
      chunk.at.push_back(static_cast<std::uint32_t>(rows_ + i));
    }
    for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
      if (flats_[i]) {
        append_flat(i, count);
      } else {
        append_list(i, count);
      }
    }
    for (Chunk& chunk : chunks_) chunk.first += chunk.count;
    rows_ += count;
    next_ += count;
  }
  return next_ < rows_of_frame_;
}

RowValues Batch::values_of(std::size_t source, std::size_t column) {
  const TableSource& from = layout_.sources[source];
  const Chunk& chunk = chunks_[source];
  if (column == layout_.unix_column) return unix_time_of(source);
  if (column == layout_.wall_column) return wall_of(source);
  if (column == layout_.kind_column) {
    scratch_.numbers.assign(chunk.count, static_cast<std::uint64_t>(from.kind));
    return {scratch_.numbers, nullptr, 0, false};
  }
  return frame_.values(from.place, from.origins[column], layout_.columns[column].type, chunk.first, chunk.count,
                       scratch_);
}

RowValues Batch::unix_time_of(std::size_t source) {
  const std::uint64_t offset_ns = frame_.frame().clock().wall_offset_ns;
  const RowValues times = values_of(source, layout_.unix_time);
  if (offset_ns == 0 || times.none) return {{}, nullptr, 0, true};
  wall_.numbers.resize(chunks_[source].count);
  std::transform(times.numbers.begin(), times.numbers.end(), wall_.numbers.begin(),
                 [offset_ns](std::uint64_t time_ns) { return time_ns + offset_ns; });
  return {wall_.numbers, nullptr, 0, false};
}

RowValues Batch::wall_of(std::size_t source) {
  const std::size_t count = chunks_[source].count;
  const RowValues end = values_of(source, layout_.wall_end);
  std::swap(scratch_, wall_scratch_);
  const RowValues begin = values_of(source, layout_.wall_begin);
  std::swap(scratch_, wall_scratch_);
  if (end.none || begin.none) return {{}, nullptr, 0, true};
  wall_.numbers.resize(count);
  wall_.bits.clear();
  wall_.bits.fill(count / 8 + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const bool known = end.present(i) && begin.present(i) && end.numbers[i] >= begin.numbers[i];
    wall_.numbers[i] = known ? end.numbers[i] - begin.numbers[i] : 0;
    if (known) wall_.bits[i / 8] |= static_cast<std::byte>(1u << (i % 8));
  }
  return {wall_.numbers, wall_.bits.data(), 0, false};
}

void Batch::append_flat(std::size_t column, std::size_t count) {
  FlatColumn& to = *flats_[column];
  if (source_of_row_.empty()) return to.append(values_of(only_source_, column), count);
  to.append_null(count);
  for (std::size_t source = 0; source < chunks_.size(); ++source)
    if (chunks_[source].count != 0) to.put(values_of(source, column), chunks_[source].at);
}

bool Batch::has_list(std::size_t source, const Origin& origin) const noexcept {
  if (origin.column == kNowhere) return false;
  const std::size_t place = layout_.sources[source].place;
  if (!origin.in_part()) return true;
  return frame_.frame().kind(place).columns[origin.part_column].stored;
}

void Batch::append_list(std::size_t column, std::size_t count) {
  ListColumn& to = *lists_[column];
  std::vector<std::size_t>& next = list_rows_;
  next.resize(chunks_.size());
  bool any = false;
  for (std::size_t source = 0; source < chunks_.size(); ++source) {
    next[source] = chunks_[source].first;
    any = any || (chunks_[source].count != 0 && has_list(source, layout_.sources[source].origins[column]));
  }
  if (!any) return to.append_null(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t source = source_of_row_.empty() ? only_source_ : source_of_row_[next_ + i];
    const TableSource& from = layout_.sources[source];
    const Origin& origin = from.origins[column];
    const std::size_t row = frame_.list_row(from.place, origin, next[source]++);
    if (row == kNowhere) {
      to.append_null(1);
    } else {
      to.append(frame_, frame_.list_section(from.place, origin), origin, row);
    }
  }
}

void Batch::add(const HostInfo& host) {
  std::size_t column = 0;
  each_field<HostInfo>([&](const auto& described) {
    const auto& value = host.*described.member;
    FlatColumn& to = *flats_[column++];
    std::uint64_t number = 0;
    std::string text;
    std::string_view seen;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
      text = to_utf8(value);
      seen = text;
      to.open_frame({&seen, 1});
    } else {
      number = value;
    }
    to.append({{&number, 1}, nullptr, 0, false}, 1);
    to.open_frame({});
  });
  ++rows_;
}

std::size_t Batch::bytes() const noexcept {
  const auto known = std::count_if(flats_.begin(), flats_.end(), [](const auto& each) { return each && each->any(); });
  return text_bytes() + rows_ * static_cast<std::size_t>(known) * sizeof(std::uint64_t);
}

OwnedArray Batch::finish() { return finish(nullptr); }

OwnedArray Batch::finish_known(OwnedSchema& schema) { return finish(&schema); }

OwnedArray Batch::finish(OwnedSchema* known) {
  const Memory zeros = zero_memory(sizeof(std::uint64_t) * (rows_ + 1));
  std::vector<OwnedSchema> fields;
  std::vector<OwnedArray> columns;
  columns.reserve(layout_.columns.size());
  for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
    const bool any = flats_[i] ? flats_[i]->any() : lists_[i]->any();
    OwnedArray column = flats_[i] ? flats_[i]->take(zeros) : lists_[i]->take(zeros);
    if (known != nullptr && !any) continue;
    if (known != nullptr) fields.push_back(schema_of(layout_.columns[i]));
    columns.push_back(std::move(column));
  }
  if (known != nullptr) *known = make_schema("+s", "", false, std::move(fields));
  OwnedArray batch = make_array(rows_, 0, {nullptr}, std::move(columns));
  rows_ = 0;
  return batch;
}

}  // namespace tracer::internal
