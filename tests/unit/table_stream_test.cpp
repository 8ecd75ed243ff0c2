// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/sink.hpp>
#include <tracer/table.hpp>

#include "arrow_check.hpp"
#include "builders.hpp"
#include "sample_events.hpp"
#include "stream/event_frames.hpp"
#include "table/batch.hpp"
#include "table/table_layout.hpp"
#include "temp_file.hpp"

using namespace tracer;

namespace {

void record(const TempFile& file, const std::vector<Event>& events) {
  recording_sink(file.path(), HostInfo{})->write(events);
}

ArrowArrayStream stream_of(const TempFile& file, Table table, std::size_t rows_per_batch = 65536) {
  ArrowArrayStream stream{};
  export_table(RecordingReader(file.path()), table, &stream, {.rows_per_batch = rows_per_batch});
  return stream;
}

/// They are by the clocks of two moments.
void without_unix_times(std::vector<arrow_check::Row>& rows) {
  for (arrow_check::Row& row : rows) {
    const std::string time = row["time_unix_ns"];
    CHECK(time != "null");
    row.erase("time_unix_ns");
  }
}

std::vector<Event> exits(std::uint32_t count) {
  std::vector<Event> events;
  for (std::uint32_t pid = 1; pid <= count; ++pid) {
    ProcessExit exit = build::exit(pid);
    exit.process = build::process({.pid = pid, .tool = "tool " + std::to_string(pid % 3)});
    events.emplace_back(exit);
  }
  events.emplace_back(build::end());
  return events;
}

}  // namespace

TEST_CASE("tables go by their names") {
  for (int i = 0; i < 8; ++i) {
    const auto table = static_cast<Table>(i);
    REQUIRE_FALSE(to_string(table).empty());
    CHECK(table_from_name(to_string(table)) == table);
  }
  CHECK(to_string(static_cast<Table>(99)).empty());
  CHECK_FALSE(table_from_name("process"));
  ArrowSchema schema{};
  CHECK_THROWS_AS(export_table_schema(static_cast<Table>(99), &schema), Error);
}

TEST_CASE("the schema of a table is that of its streams") {
  const TempFile file;
  record(file, exits(1));
  for (int i = 0; i < 8; ++i) {
    const auto table = static_cast<Table>(i);
    ArrowSchema own{};
    ArrowSchema streams{};
    export_table_schema(table, &own);
    ArrowArrayStream stream = stream_of(file, table);
    REQUIRE(stream.get_schema(&stream, &streams) == 0);
    stream.release(&stream);
    REQUIRE(own.n_children == streams.n_children);
    for (std::int64_t column = 0; column < own.n_children; ++column) {
      CHECK(std::string(own.children[column]->name) == streams.children[column]->name);
      CHECK(std::string(own.children[column]->format) == streams.children[column]->format);
      CHECK(own.children[column]->flags == streams.children[column]->flags);
    }
    own.release(&own);
    streams.release(&streams);
  }
}

TEST_CASE("batches have dictionaries of their own, and as many rows as asked for") {
  const TempFile file;
  record(file, exits(10));
  ArrowArrayStream stream = stream_of(file, Table::kProcesses, 4);
  const auto whole = arrow_check::read(stream);
  CHECK(whole.batches == std::vector<std::size_t>{4, 4, 2});
  for (std::size_t i = 0; i < whole.rows.size(); ++i)
    CHECK(whole.rows[i].at("tool") == "\"tool " + std::to_string((i + 1) % 3) + "\"");
}

TEST_CASE("a stream may be moved, asked for its schema at any time, and released at any time") {
  const TempFile file;
  record(file, exits(10));
  ArrowArrayStream first = stream_of(file, Table::kProcesses, 4);
  ArrowArray array{};
  REQUIRE(first.get_next(&first, &array) == 0);
  auto moved = std::make_unique<ArrowArrayStream>(first);
  first = {};
  ArrowSchema schema{};
  REQUIRE(moved->get_schema(moved.get(), &schema) == 0);
  ArrowArray next{};
  std::thread([&] { CHECK(moved->get_next(moved.get(), &next) == 0); }).join();
  CHECK_FALSE(stream_problem(*moved));
  moved->release(moved.get());
  CHECK((moved->release == nullptr));
  CHECK_FALSE(stream_problem(*moved));
  CHECK(arrow_check::rows_of(schema, array).size() == 4);
  CHECK(arrow_check::rows_of(schema, next).at(0).at("pid") == "5");
  // A column that was taken out of its batch is still whole.
  ArrowArray child = *array.children[2];
  array.children[2]->release = nullptr;
  array.release(&array);
  arrow_check::check(*schema.children[2], child);
  child.release(&child);
  next.release(&next);
  schema.release(&schema);
}

TEST_CASE("at its end a stream gives released arrays, again and again") {
  const TempFile file;
  record(file, exits(1));
  ArrowArrayStream stream = stream_of(file, Table::kProcesses);
  ArrowArray array{};
  REQUIRE(stream.get_next(&stream, &array) == 0);
  array.release(&array);
  for (int i = 0; i < 3; ++i) {
    CHECK(stream.get_next(&stream, &array) == 0);
    CHECK((array.release == nullptr));
  }
  CHECK(stream.get_last_error(&stream) == nullptr);
  CHECK_FALSE(stream_damage(stream)->any());
  stream.release(&stream);
}

TEST_CASE("what was read before is not in the table") {
  const TempFile file;
  record(file, exits(10));
  RecordingReader reader(file.path());
  for (int i = 0; i < 3; ++i) reader.next();
  ArrowArrayStream stream{};
  export_table(std::move(reader), Table::kProcesses, &stream);
  const auto whole = arrow_check::read(stream);
  REQUIRE(whole.rows.size() == 7);
  CHECK(whole.rows[0].at("pid") == "4");
}

TEST_CASE("of a damaged recording the table has what is whole, and the stream says what is not") {
  const TempFile file;
  std::vector<std::size_t> frame_ends;
  {
    const auto sink = recording_sink(file.path(), HostInfo{});
    for (const Event& event : exits(10)) {
      sink->write({&event, 1});
      sink->flush();
      frame_ends.push_back(file.bytes().size());
    }
  }
  const std::size_t size = frame_ends.back();
  file.write_byte(frame_ends[4] + 40, std::byte{0xaa});
  ArrowArrayStream stream = stream_of(file, Table::kProcesses);
  ArrowArray array{};
  REQUIRE(stream.get_next(&stream, &array) == 0);
  CHECK(array.length == 9);
  array.release(&array);
  REQUIRE(stream.get_next(&stream, &array) == 0);
  CHECK((array.release == nullptr));
  CHECK(stream_damage(stream)->missing_frames == 1);
  CHECK_FALSE(stream_damage(stream)->truncated);
  stream.release(&stream);

  file.cut(size - 10);
  stream = stream_of(file, Table::kProcesses);
  REQUIRE(stream.get_next(&stream, &array) == 0);
  array.release(&array);
  REQUIRE(stream.get_next(&stream, &array) == 0);
  CHECK(stream_damage(stream)->truncated);
  stream.release(&stream);
}

TEST_CASE("a read that fails ends the stream with its problem, behind all rows") {
  const TempFile file;
  record(file, exits(10));
  // What the reader holds can't be read any more once it is a folder.
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto bytes = file.bytes();
  REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ArrowArrayStream stream{};
  export_table(RecordingReader(ends[0], "the pipe"), Table::kProcesses, &stream);
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::dup3(folder, ends[0], O_CLOEXEC) == ends[0]);
  ::close(ends[1]);
  auto whole = arrow_check::read(stream);
  CHECK(whole.rows.size() == 10);
  CHECK(whole.error == EISDIR);
  const auto problem = stream_problem(stream);
  REQUIRE(problem);
  CHECK(problem->code == ErrorCode::kFileUnreadable);
  CHECK(problem->error_number == EISDIR);
  CHECK(problem->what.find("the pipe") != std::string::npos);
  CHECK(std::string(stream.get_last_error(&stream)).find("TRC110") != std::string::npos);
  ArrowArray array{};
  CHECK(stream.get_next(&stream, &array) == EISDIR);
  stream.release(&stream);
  ::close(folder);
}

TEST_CASE("streams of others have no problem and no damage") {
  ArrowArrayStream other{};
  other.release = [](ArrowArrayStream*) {};
  CHECK_FALSE(stream_problem(other));
  CHECK_FALSE(stream_damage(other));
}

TEST_CASE("a builder gives the rows that a recording gives") {
  std::vector<Event> events = sample_events::all();
  const TempFile file;
  record(file, events);
  for (int i = 0; i < 8; ++i) {
    const auto table = static_cast<Table>(i);
    CAPTURE(to_string(table));
    TableBuilder builder(table);
    for (const Event& event : events) builder.add(event);
    ArrowArrayStream stream = stream_of(file, table);
    auto recorded = arrow_check::read(stream).rows;
    if (table == Table::kHosts) recorded.clear();
    without_unix_times(recorded);
    CHECK(builder.rows() == recorded.size());
    ArrowSchema schema{};
    export_table_schema(table, &schema);
    ArrowArray array{};
    builder.finish(&array);
    auto built = arrow_check::rows_of(schema, array);
    without_unix_times(built);
    CHECK(built == recorded);
    array.release(&array);
    CHECK(builder.rows() == 0);
    builder.finish(&array);
    CHECK(array.length == 0);
    array.release(&array);
    schema.release(&schema);
  }
}

TEST_CASE("the Unix time of a row is by the offset of its frame") {
  const internal::TableLayout& layout = internal::layout_of(Table::kProcesses);
  internal::Batch batch(layout, 10);
  for (const std::uint64_t offset_ns : {std::uint64_t{5'000}, std::uint64_t{0}, std::uint64_t(-100)}) {
    internal::EventFrames frames;
    frames.add(build::exit(1));
    batch.open(frames.close({.boot_ns = 7, .wall_offset_ns = offset_ns}), 0, 1);
    while (batch.take_rows()) {
    }
  }
  ArrowSchema schema{};
  export_table_schema(Table::kProcesses, &schema);
  ArrowArray array = batch.finish().give();
  const auto rows = arrow_check::rows_of(schema, array);
  const std::uint64_t time_ns = build::exit(1).time_ns;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("time_unix_ns") == std::to_string(time_ns + 5'000));
  CHECK(rows[1].at("time_unix_ns") == "null");
  CHECK(rows[2].at("time_unix_ns") == std::to_string(time_ns - 100));
  array.release(&array);
  schema.release(&schema);
}

TEST_CASE("only_ended leaves out what had not ended") {
  ProcessSample sample;
  sample.time_ns = 50;
  sample.process = build::process({.pid = 77});
  const TempFile file;
  record(file, {build::exit(1), sample, SnapshotEnd{50, 1}});
  for (const bool only_ended : {false, true}) {
    ArrowArrayStream stream{};
    export_table(RecordingReader(file.path()), Table::kProcesses, &stream, {.only_ended = only_ended});
    const auto rows = arrow_check::read(stream).rows;
    REQUIRE(rows.size() == (only_ended ? 1 : 2));
    for (const auto& row : rows) CHECK(row.at("time_unix_ns") != "null");
  }
}

TEST_CASE("an event that is too large for a recording is a loss in live tables, too") {
  ProcessExit exit = build::exit(1);
  exit.process = build::process({.argv = std::vector<std::string>(1, std::string(1u << 20, 'x'))});
  TableBuilder processes(Table::kProcesses);
  processes.add(exit);
  CHECK(processes.rows() == 0);
  TableBuilder losses(Table::kLosses);
  losses.add(exit);
  CHECK(losses.rows() == 1);
}

TEST_CASE("of a recording that goes on in another file, tables have all rows, and no damage") {
  const TempFile file;
  const TempFile next;
  const auto open = [](const TempFile& of) { return ::open(of.path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); };
  {
    OutputLimit limit{.max_bytes = OutputLimit::kLeastBytes, .next_file = [&] { return open(next); }};
    const auto sink = recording_sink(open(file), "file", HostInfo{}, std::move(limit));
    while (!std::filesystem::exists(next.path())) sink->write(exits(1000));
  }
  ArrowArrayStream stream = stream_of(file, Table::kProcesses);
  std::int64_t rows = 0;
  for (ArrowArray array{}; stream.get_next(&stream, &array) == 0 && array.release != nullptr; array.release(&array))
    rows += array.length;
  RecordingReader reader(file.path());
  std::int64_t ends = 0;
  while (const auto event = reader.next()) ends += event->get_if<ProcessExit>() != nullptr ? 1 : 0;
  CHECK(rows == ends);
  CHECK_FALSE(stream_damage(stream)->any());
  CHECK_FALSE(reader.damage().any());
  stream.release(&stream);
}
