// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/sink.hpp>
#include <tracer/table.hpp>

#include "arrow_check.hpp"
#include "builders.hpp"
#include "plain_json.hpp"
#include "sample_events.hpp"
#include "table/table_layout.hpp"
#include "temp_file.hpp"

using namespace tracer;
using arrow_check::Row;

namespace {

constexpr Table kTables[] = {Table::kProcesses, Table::kPrograms,    Table::kSamples,    Table::kTasks,
                             Table::kRuns,      Table::kEvents,      Table::kLosses,     Table::kHosts,
                             Table::kFiles,     Table::kConnections, Table::kContainers, Table::kDevices};

HostInfo host() {
  HostInfo host;
  host.boot_id = "boot \xff";
  host.cpu_count = 3;
  host.memory_bytes = 1u << 30;
  return host;
}

void record(const TempFile& file, const std::vector<Event>& events) {
  recording_sink(file.path(), host())->write(events);
}

arrow_check::Whole read(const TempFile& file, Table table, std::size_t rows_per_batch = 65536) {
  ArrowArrayStream stream{};
  export_table(RecordingReader(file.path()), table, &stream, {.rows_per_batch = rows_per_batch});
  return arrow_check::read(stream);
}

std::string column_of(std::string path) {
  if (path.starts_with("context.")) path.erase(0, 8);
  std::replace(path.begin(), path.end(), '.', '_');
  return path;
}

/// Compares `row` with the fields of `json` that it has columns for. Returns how many were compared.
std::size_t compare(const Row& row, const std::map<std::string, std::string>& json) {
  std::size_t compared = 0;
  for (const auto& [path, value] : json) {
    const auto found = row.find(column_of(path));
    CAPTURE(path);
    if (found != row.end()) {
      CHECK(found->second == value);
      ++compared;
    } else if (value == "null" && path != "context") {
      // A group that is absent is null in all of its columns, which begin with its name; those of a context do not.
      for (const auto& [name, cell] : row)
        if (name.starts_with(path + "_")) CHECK(cell == "null");
    }
  }
  if (json.contains("context") && json.at("context") == "null")
    for (const char* name : {"pipeline", "task_id", "engine_own", "labels", "overruled", "rules", "provenance_task"})
      CHECK(row.at(name) == "null");
  return compared;
}

std::vector<Event> of_kinds(const std::set<EventKind>& kinds) {
  std::vector<Event> events;
  for (const Event& event : sample_events::all())
    if (kinds.empty() || kinds.contains(event.kind())) events.push_back(event);
  return events;
}

}  // namespace

TEST_CASE("the rows of tables are the events of dumps") {
  const TempFile file;
  record(file, sample_events::all());
  const std::map<Table, std::set<EventKind>> kinds = {
      {Table::kSamples, {EventKind::kProcessSample, EventKind::kToolSample, EventKind::kCgroupSample}},
      {Table::kTasks, {EventKind::kTaskFinish}},
      {Table::kRuns, {EventKind::kRunFinish}},
      {Table::kLosses, {EventKind::kLoss}},
      {Table::kFiles, {EventKind::kFileUse}},
      {Table::kConnections, {EventKind::kConnection}},
      {Table::kContainers, {EventKind::kContainerStart, EventKind::kContainerFinish}},
      {Table::kDevices, {EventKind::kDeviceSample}},
      {Table::kEvents, {}}};
  for (const auto& [table, of_table] : kinds) {
    for (const std::size_t rows_per_batch : {std::size_t{1}, std::size_t{3}, std::size_t{65536}}) {
      CAPTURE(to_string(table));
      const auto events = of_kinds(of_table);
      const auto whole = read(file, table, rows_per_batch);
      REQUIRE(whole.rows.size() == events.size());
      for (const std::size_t rows : whole.batches) CHECK(rows <= rows_per_batch);
      for (std::size_t i = 0; i < events.size(); ++i) {
        const plain_json::Fields json(to_json(events[i]));
        CHECK(compare(whole.rows[i], json.all()) >= 2);
      }
    }
  }
}

TEST_CASE("each field of a kind has a column in the table that is about it") {
  const std::map<EventKind, Table> tables = {{EventKind::kProcessExit, Table::kProcesses},
                                             {EventKind::kProcessSample, Table::kSamples},
                                             {EventKind::kToolSample, Table::kSamples},
                                             {EventKind::kCgroupSample, Table::kSamples},
                                             {EventKind::kTaskFinish, Table::kTasks},
                                             {EventKind::kRunFinish, Table::kRuns},
                                             {EventKind::kLoss, Table::kLosses},
                                             {EventKind::kFileUse, Table::kFiles},
                                             {EventKind::kConnection, Table::kConnections},
                                             {EventKind::kContainerFinish, Table::kContainers},
                                             {EventKind::kDeviceSample, Table::kDevices}};
  for (const Event& event : sample_events::all()) {
    const auto table = tables.find(event.kind());
    const plain_json::Fields json(to_json(event));
    if (table == tables.end() || json.all().contains("context")) continue;
    std::set<std::string> names;
    for (const auto& column : internal::layout_of(table->second).columns) names.insert(column.name);
    for (const auto& [path, value] : json.all()) {
      CAPTURE(path);
      if (value == "null" || (path == "kind" && table->second != Table::kSamples)) continue;
      CHECK(names.contains(column_of(path)));
    }
  }
}

TEST_CASE("processes: one row for each that ended, then those that had not") {
  std::vector<Event> events = of_kinds({EventKind::kProcessExit});
  const std::size_t ended = events.size();
  const auto sample_of = [](std::uint32_t pid, std::uint64_t time_ns) {
    ProcessSample sample;
    sample.time_ns = time_ns;
    sample.process = build::process({.pid = pid, .start_ns = 5, .tool = "sleep"});
    sample.threads = 7;
    sample.account.cpu_ns = 100 + pid;
    return sample;
  };
  // Of the first snapshot nothing is left; 12 ends after the last one.
  for (const std::uint32_t pid : {11u, 12u, 13u}) events.emplace_back(sample_of(pid, 1000));
  for (const std::uint32_t pid : {11u, 12u, 14u}) events.emplace_back(sample_of(pid, 2000));
  ProcessExit exit;
  exit.begin_ns = 5;
  exit.time_ns = exit.end_ns = 2500;
  exit.process = build::process({.pid = 12, .start_ns = 5});
  exit.start_ns = 5;
  events.emplace_back(exit);
  events.emplace_back(build::end(3000));
  const TempFile file;
  record(file, events);
  for (const std::size_t rows_per_batch : {std::size_t{2}, std::size_t{100}}) {
    const auto whole = read(file, Table::kProcesses, rows_per_batch);
    REQUIRE(whole.rows.size() == ended + 3);
    std::size_t at = 0;
    for (const Event& event : events) {
      if (event.kind() != EventKind::kProcessExit) continue;
      const Row& row = whole.rows[at++];
      CHECK(compare(row, plain_json::Fields(to_json(event)).all()) > 20);
    }
    CHECK(whole.rows[ended].at("wall_ns") == "2495");
    for (const auto& [place, pid] : {std::pair<std::size_t, int>{ended + 1, 11}, {ended + 2, 14}}) {
      const Row& row = whole.rows[place];
      CHECK(row.at("pid") == std::to_string(pid));
      CHECK(row.at("tool") == "\"sleep\"");
      CHECK(row.at("cpu_ns") == std::to_string(100 + pid));
      for (const char* name : {"end_ns", "wall_ns", "exit_code", "exit_signal", "core_dumped", "threads"})
        CHECK(row.at(name) == "null");
    }
  }
}

TEST_CASE("programs: one row for each that ended, by exec or with its process") {
  const auto events = of_kinds({EventKind::kProcessExec, EventKind::kProcessExit});
  const TempFile file;
  record(file, events);
  const auto whole = read(file, Table::kPrograms);
  REQUIRE(whole.rows.size() == events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Row& row = whole.rows[i];
    const auto json = plain_json::Fields(to_json(events[i])).all();
    const std::string group = events[i].kind() == EventKind::kProcessExec ? "ended." : "program.";
    CHECK(row.at("pid") == json.at("pid"));
    CHECK(row.at("start_ns") == json.at("start_ns"));
    CHECK(row.at("program_start_ns") == json.at(group + "start_ns"));
    CHECK(row.at("program_end_ns") == json.at(group + "end_ns"));
    for (const char* name : {"exe", "tool", "cpu_ns", "peak_rss_bytes", "engine_own"})
      CHECK(row.at(name) == json.at(group + name));
    const ProgramAccount& program = events[i].kind() == EventKind::kProcessExec
                                        ? events[i].get_if<ProcessExec>()->ended
                                        : events[i].get_if<ProcessExit>()->program;
    CHECK(row.at("comm") == (program.program->comm ? '"' + *program.program->comm + '"' : "null"));
    if (program.account.ledger) CHECK(row.at("ledger_disk_ns") == json.at(group + "ledger.disk_ns"));
  }
}

TEST_CASE("hosts has one row, with text that is UTF-8") {
  const TempFile file;
  record(file, {});
  const auto whole = read(file, Table::kHosts);
  REQUIRE(whole.rows.size() == 1);
  CHECK(whole.rows[0].at("boot_id") == "\"boot \xef\xbf\xbd\"");
  CHECK(whole.rows[0].at("cpu_count") == "3");
  CHECK(compare(whole.rows[0], plain_json::Fields(to_json(host())).all()) == whole.rows[0].size());
}

TEST_CASE("a recording without events has tables without rows") {
  const TempFile file;
  record(file, {});
  for (const Table table : kTables) {
    const auto whole = read(file, table);
    CHECK(whole.error == 0);
    CHECK(whole.rows.size() == (table == Table::kHosts ? 1 : 0));
    CHECK(whole.batches.size() == whole.rows.size());
  }
}

TEST_CASE("a figure of a task that is not known is null, not what it begins with") {
  TaskFinish finish;
  finish.totals.engine_cpu_ns = std::nullopt;
  const TempFile file;
  record(file, {finish});
  CHECK(read(file, Table::kTasks).rows.at(0).at("engine_cpu_ns") == "null");
  RecordingReader reader(file.path());
  CHECK_FALSE(reader.next()->get_if<TaskFinish>()->totals.engine_cpu_ns);
}

TEST_CASE("columns of one name have one type in all kinds of a table") {
  for (const Table table : kTables) {
    const internal::TableLayout& layout = internal::layout_of(table);
    std::set<std::string> names;
    for (const auto& column : layout.columns) {
      CAPTURE(column.name);
      CHECK(names.insert(column.name).second);
    }
    for (const internal::TableSource& source : layout.sources) {
      REQUIRE(source.origins.size() == layout.columns.size());
      for (std::size_t i = 0; i < source.origins.size(); ++i) {
        const internal::Origin& origin = source.origins[i];
        if (origin.column == internal::kNowhere) continue;
        const auto specs = origin.in_part() ? internal::kPartSpecs[origin.part] : internal::kKindSpecs[source.place];
        const internal::ColumnSpec& spec = specs[origin.column];
        CAPTURE(layout.columns[i].name);
        CHECK((spec.role == internal::Role::kList) == !layout.columns[i].fields.empty());
        if (spec.role == internal::Role::kValue) CHECK(spec.type == layout.columns[i].type);
        CHECK(spec.role != internal::Role::kPart);
      }
    }
  }
}
