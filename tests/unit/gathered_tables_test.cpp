// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/recording.hpp>
#include <tracer/sink.hpp>

#include "builders.hpp"
#include "table/gathered_tables.hpp"
#include "table/task_minutes.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;
constexpr std::uint64_t kMinute_ns = 60 * kSecond_ns;

Context task(std::uint64_t key) {
  Context context;
  context.task = "task " + std::to_string(key);
  context.task_key = Key{key};
  return context;
}

Event sample(std::uint32_t pid, Context context, std::uint64_t time_ns, std::optional<std::uint64_t> cpu_ns,
             std::uint64_t held_bytes = 0) {
  ProcessSample sample;
  sample.time_ns = time_ns;
  sample.process = build::process({.pid = pid, .start_ns = kMinute_ns, .context = std::move(context)});
  sample.account.cpu_ns = cpu_ns;
  sample.rss_anonymous_bytes = held_bytes;
  return Event(std::move(sample));
}

Event exit(std::uint32_t pid, Context context, std::uint64_t time_ns, std::optional<std::uint64_t> cpu_ns) {
  ProcessExit exit;
  exit.time_ns = exit.end_ns = time_ns;
  exit.process = build::process({.pid = pid, .start_ns = kMinute_ns, .context = std::move(context)});
  exit.begin_ns = kMinute_ns;
  exit.account.cpu_ns = cpu_ns;
  return Event(std::move(exit));
}

struct Row {
  std::uint64_t task = 0;
  std::uint64_t minute = 0;
  std::optional<std::uint64_t> cpu_ns;
  std::uint64_t processes = 0;
  std::optional<std::uint64_t> held_bytes;

  bool operator==(const Row&) const = default;
};

/// With a clock that is an hour on.
std::vector<Row> rows_of(TaskMinutes& minutes, const std::vector<Event>& events) {
  constexpr ClockUpdate kClock{0, 60 * kMinute_ns};
  EventFrames frames;
  for (const Event& event : events) frames.add(event);
  minutes.read(frames.close(kClock), 0);
  std::vector<Row> rows;
  minutes.give([&rows](const ColumnFrame& frame) {
    EventRows made;
    made.open(frame);
    for (Event event = made.next(); event.kind() != EventKind::kNone; event = made.next()) {
      const auto& of = *event.get_if<ToolSample>();
      CHECK(of.context->task == "task " + std::to_string(static_cast<std::uint64_t>(*of.context->task_key)));
      rows.push_back({static_cast<std::uint64_t>(*of.context->task_key), of.time_ns / kMinute_ns, of.account.cpu_ns,
                      of.processes, of.held_bytes});
    }
  });
  return rows;
}

}  // namespace

TEST_CASE("minutes of tasks: what was used between two looks is spread over the time between") {
  TaskMinutes minutes({});
  // From minute 1 to 1:30, to 3:30, and its end at 3:45.
  CHECK(
      rows_of(minutes, {sample(1, task(7), kMinute_ns * 3 / 2, 100, 10), sample(2, task(7), kMinute_ns * 3 / 2, 1, 5),
                        sample(1, task(7), kMinute_ns * 7 / 2, 141, 12), exit(1, task(7), kMinute_ns * 15 / 4, 150)}) ==
      std::vector<Row>{{7, 1, 100 + 10 + 1, 2, 15}, {7, 2, 20, 0, {}}, {7, 3, 11 + 9, 1, 12}});
  REQUIRE(minutes.looks().size() == 1);
  CHECK(minutes.looks()[0].id.pid == 2);
}

TEST_CASE("minutes of tasks: a process that lives over a cut counts once") {
  TaskMinutes first({});
  CHECK(rows_of(first, {sample(1, task(7), 2 * kMinute_ns, 100)}).front() == Row{7, 1, 100, 0, {}});
  TaskMinutes second(first.looks());
  CHECK(rows_of(second, {sample(1, task(7), 3 * kMinute_ns, 130)}).front() == Row{7, 2, 30, 0, {}});
  TaskMinutes third(second.looks());
  CHECK(rows_of(third, {exit(1, task(7), 3 * kMinute_ns + 1, 130)}) == std::vector<Row>{{7, 3, 0, 0, {}}});
  CHECK(third.looks().empty());
}

TEST_CASE("minutes of tasks: what a process did outside of any task is of the one that it ends in") {
  TaskMinutes minutes({});
  CHECK(rows_of(minutes, {sample(1, {}, 2 * kMinute_ns, 60), exit(1, task(7), 3 * kMinute_ns - 1, 100)}) ==
        std::vector<Row>{{7, 1, 60, 0, {}}, {7, 2, 40, 0, {}}});
  TaskMinutes outside({});
  CHECK(rows_of(outside, {sample(1, {}, 2 * kMinute_ns, 60), exit(1, {}, 3 * kMinute_ns, 100)}).empty());
}

TEST_CASE("minutes of tasks: a figure that is not known of one process is none") {
  TaskMinutes minutes({});
  CHECK(rows_of(minutes, {sample(1, task(7), kMinute_ns * 3 / 2, 10), exit(1, task(7), kMinute_ns * 5 / 2, {}),
                          exit(2, task(8), kMinute_ns + 1, {})}) ==
        std::vector<Row>{{7, 1, {}, 1, 0}, {7, 2, {}, 0, {}}, {8, 1, {}, 0, {}}});
}

TEST_CASE("minutes of tasks: a time without end does not take memory without end") {
  TaskMinutes minutes({});
  const auto rows = rows_of(minutes, {exit(1, task(7), std::numeric_limits<std::uint64_t>::max() / 4, 1'000'000)});
  CHECK(rows.size() <= 24 * 60 + 1);
  std::uint64_t all = 0;
  for (const Row& row : rows) all += row.cpu_ns.value();
  CHECK(all == 1'000'000);
}

TEST_CASE("gathered tables: several recordings, each read once, with numbers that all engines read") {
  const TempFile file;
  ProcessExit exit = build::exit(5, 100);
  exit.account.cpu_ns = std::numeric_limits<std::uint64_t>::max();
  exit.account.read_bytes = 17;
  recording_sink(file.path(), {})->write(std::vector<Event>{Event(exit), Event(build::start(6)), Event(SessionEnd())});
  const std::vector<EventKind> kinds = {EventKind::kProcessExit};
  const std::vector<std::string> columns = {"pid", "cpu_ns", "read_bytes", "exit_code", "tool"};
  std::vector<TableLayout> layouts;
  layouts.push_back(signed_part_of(layout_of(Table::kProcesses), kinds, columns));
  layouts.push_back(signed_part_of(layout_of(Table::kHosts), {}, {}));
  GatheredTables tables(std::move(layouts));
  for (const std::vector<std::size_t>& wanted : {std::vector<std::size_t>{0, 1}, std::vector<std::size_t>{0}}) {
    RecordingReader reader(file.path());
    const auto read = tables.read(reader, wanted, {});
    CHECK(read.rows == std::vector<std::size_t>{1, wanted.size() - 1});
    CHECK(reader.closed_unix_ns().has_value());
    CHECK(reader.damage().missing_frames == 0);
  }
  CHECK(tables.bytes() != 0);
  auto batches = tables.take(0);
  REQUIRE(batches.size() == 1);
  auto& [schema, array] = batches[0];
  // Nobody knows the tool.
  REQUIRE(schema->n_children == 4);
  REQUIRE(array->length == 2);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::string name = schema->children[i]->name;
    CHECK(std::string(schema->children[i]->format) == (name == "exit_code" ? "i" : "l"));
    const auto* const numbers = static_cast<const std::int64_t*>(array->children[i]->buffers[1]);
    if (name == "cpu_ns") CHECK(numbers[1] == std::numeric_limits<std::int64_t>::max());
    if (name == "read_bytes") CHECK(numbers[1] == 17);
  }
  CHECK(tables.take(0).empty());
  CHECK(tables.take(1).size() == 1);
}
