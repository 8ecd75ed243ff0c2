// SPDX-License-Identifier: Apache-2.0
#include "table/gathered_tables.hpp"

#include <optional>

#include <tracer/error.hpp>

#include "stream/recording_series.hpp"

namespace tracer::internal {

GatheredTables::GatheredTables(std::vector<TableLayout> layouts) {
  for (TableLayout& layout : layouts) tables_.push_back(std::make_unique<Gathered>(std::move(layout)));
}

void GatheredTables::Gathered::add(const ColumnFrame& frame, std::size_t first_row) {
  batch.open(frame, first_row, layout.sources.size());
  while (batch.take_rows()) {
  }
  if (batch.full()) close();
}

void GatheredTables::Gathered::close() {
  if (batch.rows() == 0) return;
  closed_rows += batch.rows();
  closed_bytes += batch.bytes();
  OwnedSchema schema;
  OwnedArray array = batch.finish_known(schema);
  closed.emplace_back(std::move(schema), std::move(array));
}

GatheredTables::Read GatheredTables::read(RecordingReader& reader, std::span<const std::size_t> tables,
                                          std::vector<Look> before) {
  RecordingSeries* const file = RecordingAccess::series(reader);
  if (file == nullptr)
    throw Error({ErrorCode::kInvalidArgument, 0, "the reader was moved from before", "make another one", {}});
  Read done{.rows = std::vector<std::size_t>(tables_.size()), .looks = {}};
  std::vector<Gathered*> wanted;
  std::optional<TaskMinutes> minutes;
  Gathered* of_minutes = nullptr;
  std::vector<EventKind> kinds;
  for (const std::size_t at : tables) {
    Gathered& table = *tables_.at(at);
    done.rows[at] = table.rows();
    if (table.layout.table == Table::kSamples) {
      of_minutes = &table;
      minutes.emplace(std::move(before));
      kinds.insert(kinds.end(), TaskMinutes::kRead.begin(), TaskMinutes::kRead.end());
    } else {
      if (table.layout.table == Table::kHosts) table.batch.add(file->host());
      for (const TableSource& source : table.layout.sources) kinds.push_back(source.kind);
      wanted.push_back(&table);
    }
  }
  file->keep_only(kinds);
  for (;;) {
    const auto rest = file->next_frame(RecordingSeries::Wait::kForBytes);
    if (rest.frame == nullptr) break;
    for (Gathered* const table : wanted) table->add(*rest.frame, rest.first_row);
    if (minutes) minutes->read(*rest.frame, rest.first_row);
  }
  if (minutes) {
    minutes->give([of_minutes](const ColumnFrame& frame) { of_minutes->add(frame, 0); });
    done.looks = minutes->looks();
  }
  for (const std::size_t at : tables) done.rows[at] = tables_[at]->rows() - done.rows[at];
  return done;
}

std::size_t GatheredTables::bytes() const noexcept {
  std::size_t all = 0;
  for (const auto& table : tables_) all += table->closed_bytes + table->batch.bytes();
  return all;
}

std::vector<std::pair<OwnedSchema, OwnedArray>> GatheredTables::take(std::size_t table) {
  Gathered& of = *tables_.at(table);
  of.close();
  of.closed_rows = of.closed_bytes = 0;
  return std::exchange(of.closed, {});
}

}  // namespace tracer::internal
