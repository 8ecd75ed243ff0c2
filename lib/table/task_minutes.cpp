// SPDX-License-Identifier: Apache-2.0
#include "table/task_minutes.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "table/table_layout.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint64_t kMinute_ns = 60'000'000'000;
/// What was used in a longer time is spread over the last of it.
constexpr std::uint64_t kMostMinutes = 24 * 60;
/// Of one recording, far beyond what a real one has: from then on, all that was used is in the last minute.
constexpr std::size_t kMostRows = 4'000'000;

/// Where the rows of a kind have what is in a column.
struct At {
  const Origin* origin = nullptr;
  Type type = Type::kU64;
};

At at_of(const TableLayout& layout, std::size_t source, std::string_view name) {
  std::size_t i = 0;
  while (layout.columns[i].name != name) ++i;
  return {&layout.sources[source].origins[i], layout.columns[i].type};
}

}  // namespace

/// Of samples, or of ends.
struct TaskMinutes::Columns {
  Columns(Table table, std::string_view begin) {
    const TableLayout& layout = layout_of(table);
    place = layout.sources[0].place;
    const std::array<std::string_view, 8> names = {"time_ns",  "pid",    "start_ns",   begin,
                                                   "task_key", "cpu_ns", "read_bytes", "written_bytes"};
    for (std::size_t i = 0; i < names.size(); ++i) all[i] = at_of(layout, 0, names[i]);
  }
  std::size_t place = 0;
  std::array<At, 8> all;
};

TaskMinutes::TaskMinutes(std::vector<Look> before) {
  for (Look& look : before) looks_.emplace(look.id, std::move(look));
}

void TaskMinutes::read(const ColumnFrame& frame, std::size_t first_row) {
  static const Columns samples(Table::kSamples, "start_ns");
  static const Columns exits(Table::kProcesses, "begin_ns");
  // Of a frame that was begun by somebody else.
  std::array<std::size_t, kKinds + 1> first{};
  for (std::size_t row = 0; row < first_row; ++row) ++first[frame.place_of_row(row)];
  const bool has_clock = frame.clock().wall_offset_ns != 0;
  if (has_clock) clock_ = frame.clock();
  if (clock_.wall_offset_ns == 0) return;
  bool opened = false;
  for (const Columns* const columns : {&samples, &exits}) {
    if (frame.kind(columns->place).rows <= first[columns->place]) continue;
    if (!std::exchange(opened, true)) values_.open(frame);
    read(frame, *columns, first[columns->place]);
  }
  if (frame.kind(kPlaceOfKind<SessionEnd>).rows != 0) looks_.clear();
}

void TaskMinutes::read(const ColumnFrame& frame, const Columns& columns, std::size_t first) {
  const std::size_t count = frame.kind(columns.place).rows - first;
  const bool are_samples = columns.place == kPlaceOfKind<ProcessSample>;
  std::array<Scratch, 8> scratch;
  std::array<RowValues, 8> values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = values_.values(columns.place, *columns.all[i].origin, columns.all[i].type, first, count, scratch[i]);
  const auto& [time, pid, start, begin, task, cpu, read, written] = values;
  const auto known = [](const RowValues& of, std::size_t row) {
    return !of.none && of.present(row) ? std::optional(of.numbers[row]) : std::nullopt;
  };
  const Column& context = frame.kind(columns.place).columns[columns.all[4].origin->part_column];
  std::vector<bool> named(frame.part(kPlaceOfPart<Context>).rows);
  if (are_samples && !task.none) rows_.open(frame);
  for (std::size_t row = 0; row < count; ++row) {
    const Look now{.id = {start.numbers[row], static_cast<std::uint32_t>(pid.numbers[row])},
                   .time_ns = time.numbers[row],
                   .used = {known(cpu, row), known(read, row), known(written, row)}};
    const auto key = known(task, row);
    if (are_samples && now.time_ns != snapshot_ns_) {
      end_snapshot();
      snapshot_ns_ = now.time_ns;
    }
    if (key) {
      const auto of = static_cast<std::size_t>(context.values[first + row]);
      if (!named[of]) contexts_[*key] = std::make_shared<Context>(context_at(frame, of));
      named[of] = true;
      if (are_samples) {
        AtOnce& at_once = snapshot_[*key];
        ++at_once.processes;
        at_once.held.add(*rows_.event(columns.place, first + row).get_if<ProcessSample>());
      }
    } else if (!are_samples) {
      looks_.erase(now.id);
      continue;
    }
    note(key, begin.numbers[row], now, !are_samples);
  }
}

/// What a process did before it was in a task is that of the task in which it ends, as in its totals.
void TaskMinutes::note(std::optional<std::uint64_t> task, std::uint64_t begin_ns, const Look& now, bool is_end) {
  Look& last = looks_.try_emplace(now.id, Look{.id = now.id, .time_ns = begin_ns}).first->second;
  for (std::size_t i = 0; i < now.used.size(); ++i) {
    // Else the next look shows it.
    if (!now.used[i] && !is_end) continue;
    const std::uint64_t from_ns = last.used[i] || !now.used[i] ? last.time_ns : begin_ns;
    const std::uint64_t before = last.used[i].value_or(0);
    const std::uint64_t up_to = std::max(now.used[i].value_or(0), before);
    if (!task) {
      last.outside[i] += up_to - before;
    } else {
      spread(*task, i, from_ns, now.time_ns, now.used[i] ? std::optional(up_to - before) : std::nullopt);
      if (is_end && last.outside[i] != 0) spread(*task, i, begin_ns, last.time_ns, last.outside[i]);
    }
    last.used[i] = up_to;
  }
  last.time_ns = now.time_ns;
  if (is_end) looks_.erase(now.id);
}

void TaskMinutes::spread(std::uint64_t task, std::size_t what, std::uint64_t from_ns, std::uint64_t to_ns,
                         std::optional<std::uint64_t> amount) {
  from_ns = std::min(from_ns, to_ns);
  if (to_ns - from_ns > kMostMinutes * kMinute_ns) from_ns = to_ns - kMostMinutes * kMinute_ns;
  if (minutes_.size() > kMostRows) from_ns = to_ns;
  const std::uint64_t took_ns = to_ns - from_ns;
  const std::uint64_t last = minute_of(to_ns);
  // Each has the part up to its end, less that up to the end of the one before it: together, they are exact.
  std::uint64_t given = 0;
  for (std::uint64_t minute = minute_of(from_ns); minute <= last; ++minute) {
    std::uint64_t up_to = amount.value_or(0);
    if (minute != last) {
      const std::uint64_t until_ns = (minute + 1) * kMinute_ns - clock_.wall_offset_ns - from_ns;
      up_to = static_cast<std::uint64_t>(static_cast<unsigned __int128>(up_to) * until_ns / took_ns);
    }
    Used& used = minutes_[{task, minute}].used[what];
    used.amount += up_to - given;
    (amount ? used.some : used.lacks) = true;
    given = up_to;
  }
}

void TaskMinutes::end_snapshot() {
  for (const auto& [task, at_once] : snapshot_) {
    Minute& minute = minutes_[{task, minute_of(snapshot_ns_)}];
    const auto held_bytes = at_once.held.bytes();
    if (minute.processes != 0 && held_bytes <= minute.held_bytes) continue;
    minute.processes = at_once.processes;
    minute.held_bytes = held_bytes;
  }
  snapshot_.clear();
}

std::vector<Look> TaskMinutes::looks() const {
  std::vector<Look> all;
  all.reserve(looks_.size());
  for (const auto& [id, look] : looks_) all.push_back(look);
  std::sort(all.begin(), all.end(), [](const Look& one, const Look& other) { return one.id < other.id; });
  return all;
}

std::uint64_t TaskMinutes::minute_of(std::uint64_t time_ns) const noexcept {
  return (time_ns + clock_.wall_offset_ns) / kMinute_ns;
}

Event TaskMinutes::event_of(std::uint64_t task, std::uint64_t minute, const Minute& used) const {
  ToolSample sample;
  sample.time_ns = minute * kMinute_ns - clock_.wall_offset_ns;
  sample.context = contexts_.at(task);
  sample.processes = used.processes;
  sample.held_bytes = used.held_bytes;
  const auto known = [&used](std::size_t i) {
    const Used& of = used.used[i];
    return of.some && !of.lacks ? std::optional(of.amount) : std::nullopt;
  };
  sample.account.cpu_ns = known(0);
  sample.account.read_bytes = known(1);
  sample.account.written_bytes = known(2);
  return Event(std::move(sample));
}

}  // namespace tracer::internal
