// SPDX-License-Identifier: Apache-2.0
#include <tracer/recording.hpp>

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/session.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>

#include "stream/frame.hpp"
#include "stream/recording_header.hpp"
#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

HostInfo host() {
  HostInfo host;
  host.boot_id = "b";
  host.host_name = "h\xff";
  host.cpu_count = 4;
  host.memory_bytes = 1ull << 40;
  host.wall_offset_ns = 0xffffffffffffffff;
  return host;
}

std::vector<std::string> jsons(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& event : events) texts.push_back(to_json(event));
  return texts;
}

std::vector<Event> read_all(RecordingReader& reader) {
  std::vector<Event> events;
  while (auto event = reader.next()) events.push_back(std::move(*event));
  return events;
}

ErrorCode code_of(const std::filesystem::path& file, int* error_number = nullptr) {
  try {
    RecordingReader reader(file);
  } catch (const Error& error) {
    if (error_number != nullptr) *error_number = error.error_number();
    CHECK(std::string(error.what()).find(file.string()) != std::string::npos);
    return error.code();
  }
  return ErrorCode::kInternal;
}

void append_frame(std::vector<std::byte>& file, const msgpack::sbuffer& payload) {
  FrameWriter writer;
  const auto frame = writer.frame(std::as_bytes(std::span(payload.data(), payload.size())));
  file.insert(file.end(), frame.begin(), frame.end());
}

std::vector<std::byte> magic() {
  const auto bytes = std::as_bytes(std::span(kRecordingMagic));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> with_header(const RecordingHeader& header) {
  std::vector<std::byte> file = magic();
  msgpack::sbuffer payload;
  pack_header(payload, header);
  append_frame(file, payload);
  return file;
}

/// Of the table in docs/recording-format.md.
std::map<std::string, unsigned> documented_kinds() {
  std::ifstream file(TRACER_SOURCE_DIR "/docs/recording-format.md");
  std::map<std::string, unsigned> kinds;
  std::string line;
  while (std::getline(file, line) && line != "| kind | number |") continue;
  std::getline(file, line);
  while (std::getline(file, line) && !line.empty()) {
    char name[32] = {};
    unsigned number = 0;
    CAPTURE(line);
    REQUIRE(std::sscanf(line.c_str(), "| `%31[a-z_]` | %u |", name, &number) == 2);
    CHECK(kinds.emplace(name, number).second);
  }
  return kinds;
}

}  // namespace

TEST_CASE("what is recorded comes back equal, absent fields and odd texts too") {
  const TempFile file;
  const std::vector<Event> events = sample_events::all();
  {
    const auto sink = recording_sink(file.path(), host());
    for (const Event& event : events) sink->on_event(event);
    CHECK_FALSE(sink->problem().has_value());
  }
  RecordingReader reader(file.path());
  CHECK(reader.host() == host());
  const std::vector<Event> back = read_all(reader);
  CHECK(jsons(back) == jsons(events));
  CHECK_FALSE(reader.damage().any());
  CHECK_FALSE(reader.next().has_value());
  REQUIRE(back.size() == events.size());
  // JSON would not tell these apart.
  CHECK((*back[0].get_if<ProcessStart>()).process->program->argv ==
        (*events[0].get_if<ProcessStart>()).process->program->argv);
  CHECK((*back[10].get_if<ProcessExit>()).process->program->cwd == "/with\nline end \x80\xc0\xaf");
  CHECK((*back[2].get_if<ProcessExit>()).start_ns == (*back[2].get_if<ProcessExit>()).process->start_ns);
}

TEST_CASE("a session's end comes back as it was told, with families missing, none, or nobody knows") {
  using Families = std::optional<std::vector<std::string>>;
  for (const Families& missing : {Families(), Families(std::in_place), Families({"waits", "snapshots"})}) {
    SessionEnd end = sample_events::full<SessionEnd>();
    end.missing_families = missing;
    if (missing && missing->empty()) end.cost_kernel_ns.reset();
    const TempFile file;
    recording_sink(file.path(), host())->on_event(end);
    RecordingReader reader(file.path());
    const auto back = read_all(reader);
    REQUIRE(back.size() == 1);
    CHECK((*back[0].get_if<SessionEnd>()).missing_families == missing);
    CHECK(to_json(back[0]) == to_json(end));
    CHECK_FALSE(reader.damage().any());
  }
}

TEST_CASE("what older versions did not record is absent") {
  const EventSchema schema = {{6, {"time_ns", "processes_started", "processes_ended", "exits_delivered", "losses"}},
                              {8, {"time_ns", "cgroup_id", "processes", "followed_processes"}}};
  std::vector<std::byte> bytes = with_header({.host = host(), .events = schema});
  msgpack::sbuffer payload;
  msgpack::packer<msgpack::sbuffer> packer(payload);
  packer.pack_array(5);
  packer.pack(8).pack(1).pack(50).pack(3).pack(2);
  packer.pack_array(6);
  packer.pack(6).pack(1).pack(2).pack(3).pack(4).pack(5);
  append_frame(bytes, payload);
  const TempFile file;
  file.write(bytes);
  RecordingReader reader(file.path());
  const auto events = read_all(reader);
  REQUIRE(events.size() == 2);
  const auto& cgroup = (*events[0].get_if<CgroupSample>());
  CHECK_FALSE(cgroup.has_below);
  CHECK(cgroup.processes == 3);
  CHECK(cgroup.followed_processes == 2);
  const auto& end = (*events[1].get_if<SessionEnd>());
  CHECK(end.losses == 5);
  CHECK_FALSE(end.cost_cpu_ns.has_value());
  CHECK_FALSE(end.missing_families.has_value());
  CHECK_FALSE(reader.damage().any());
}

TEST_CASE("a recording of many frames comes back in order") {
  const TempFile file;
  constexpr std::uint64_t kMany = 20'000;
  {
    const auto sink = recording_sink(file.path(), host());
    for (std::uint64_t i = 0; i < kMany; ++i)
      sink->on_event(Loss{i, std::to_string(i * 2654435761u) + std::string(20, 'x'), i});
    sink->on_event(SessionEnd{});
  }
  RecordingReader reader(file.path());
  std::uint64_t next = 0;
  while (const auto event = reader.next()) {
    if (const auto* loss = event->get_if<Loss>()) {
      REQUIRE(loss->count == next);
      ++next;
    }
  }
  CHECK(next == kMany);
  CHECK_FALSE(reader.damage().any());
}

TEST_CASE("a recording goes to a file descriptor that was handed over") {
  const TempFile file;
  const int fd = ::open(file.path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  recording_sink(fd, "a name", host())->on_event(SessionEnd{});
  CHECK(::fcntl(fd, F_GETFD) == -1);
  RecordingReader reader(file.path());
  CHECK(read_all(reader).size() == 1);
}

TEST_CASE("a recording without its end says so, an empty one too") {
  const TempFile file;
  recording_sink(file.path(), host()).reset();
  RecordingReader empty(file.path());
  CHECK(read_all(empty).empty());
  CHECK(empty.damage().truncated);
  recording_sink(file.path(), host())->on_event(Loss{});
  RecordingReader reader(file.path());
  CHECK(read_all(reader).size() == 1);
  CHECK(reader.damage().truncated);
  CHECK(reader.damage().skipped_bytes == 0);
}

TEST_CASE("a reader can be moved while it reads") {
  const TempFile file;
  {
    const auto sink = recording_sink(file.path(), host());
    for (const Event& event : sample_events::all()) sink->on_event(event);
  }
  RecordingReader first(file.path());
  CHECK(first.next().has_value());
  RecordingReader second = std::move(first);
  CHECK(read_all(second).size() == sample_events::all().size() - 1);
}

TEST_CASE("files that are no readable recording each have their code") {
  const TempFile file;
  int error_number = 0;
  CHECK(code_of(file.folder() / "missing", &error_number) == ErrorCode::kFileUnreadable);
  CHECK(error_number == ENOENT);
  CHECK(code_of(file.folder(), &error_number) == ErrorCode::kFileUnreadable);
  CHECK(error_number == EISDIR);
  file.write({});
  CHECK(code_of(file.path()) == ErrorCode::kNotARecording);
  file.write(std::as_bytes(std::span("#!/bin/sh and more")));
  CHECK(code_of(file.path()) == ErrorCode::kNotARecording);
  file.write(magic());
  CHECK(code_of(file.path()) == ErrorCode::kCorruptRecording);
}

TEST_CASE("a header that can't be understood is corrupt") {
  const TempFile file;
  for (const int which : {0, 1, 2, 3}) {
    std::vector<std::byte> bytes = magic();
    msgpack::sbuffer payload;
    msgpack::packer<msgpack::sbuffer> packer(payload);
    if (which == 0) packer.pack(42);
    if (which == 1) packer.pack_map(0);
    if (which == 2) packer.pack_map(3);  // cut
    if (which == 3) {
      packer.pack_map(1);
      packer.pack("schema");
      packer.pack("one");
    }
    append_frame(bytes, payload);
    file.write(bytes);
    CAPTURE(which);
    CHECK(code_of(file.path()) == ErrorCode::kCorruptRecording);
  }
}

TEST_CASE("a newer schema is refused") {
  const TempFile file;
  file.write(with_header({.schema = kRecordingSchema + 1, .host = host(), .events = event_schema()}));
  CHECK(code_of(file.path()) == ErrorCode::kNewerSchema);
}

TEST_CASE("fields that a newer writer appended are passed over") {
  EventSchema schema = event_schema();
  schema[5].push_back("colour");
  schema[77] = {"time_ns", "what"};
  std::vector<std::byte> bytes = with_header({.host = host(), .events = schema});
  msgpack::sbuffer payload;
  msgpack::packer<msgpack::sbuffer> packer(payload);
  packer.pack_array(5);
  packer.pack(5).pack(1).pack("cause").pack(3).pack(std::vector<std::string>{"red"});
  packer.pack_array(3);
  packer.pack(77).pack(2).pack("?");
  packer.pack_array(4);
  packer.pack(5).pack(1).pack("shorter").pack(4);
  packer.pack("no event");
  packer.pack_array(4);
  packer.pack(5).pack(1).pack(99).pack(4);
  packer.pack_array(4);
  packer.pack(5).pack(-1).pack("negative").pack(4);
  append_frame(bytes, payload);
  const TempFile file;
  file.write(bytes);
  RecordingReader reader(file.path());
  const auto events = read_all(reader);
  REQUIRE(events.size() == 2);
  CHECK((*events[0].get_if<Loss>()).count == 3);
  CHECK((*events[1].get_if<Loss>()).cause == "shorter");
  CHECK(reader.damage().skipped_events == 4);
  CHECK(reader.damage().skipped_bytes == 0);
}

TEST_CASE("fields are found by name wherever the writer put them, and a missing one is absent") {
  const EventSchema schema = {{1, {"start_ns", "pid", "exe", "time_ns"}}};
  std::vector<std::byte> bytes = with_header({.host = host(), .events = schema});
  msgpack::sbuffer payload;
  msgpack::packer<msgpack::sbuffer> packer(payload);
  packer.pack_array(5);
  packer.pack(1).pack(500).pack(42).pack("/bin/sh").pack(501);
  append_frame(bytes, payload);
  const TempFile file;
  file.write(bytes);
  RecordingReader reader(file.path());
  const auto events = read_all(reader);
  REQUIRE(events.size() == 1);
  const auto& start = (*events[0].get_if<ProcessStart>());
  CHECK(start.time_ns == 501);
  CHECK(start.process->pid == 42);
  CHECK(start.process->start_ns == 500);
  CHECK(start.process->program->exe == "/bin/sh");
  CHECK_FALSE(start.process->uid.has_value());
  CHECK_FALSE(start.attached_ns.has_value());
}

TEST_CASE("the documented table of kinds is that of the code") {
  std::map<std::string, unsigned> kinds;
  for (unsigned number = 0; number <= 0xffff; ++number) {
    const std::string_view name = to_string(static_cast<EventKind>(number));
    if (!name.empty()) kinds.emplace(name, number);
  }
  CHECK(kinds.size() == event_schema().size());
  CHECK(documented_kinds() == kinds);
}

TEST_CASE("the schema names each kind's fields once") {
  for (const auto& [kind, names] : event_schema()) {
    const std::set<std::string> different(names.begin(), names.end());
    CAPTURE(kind);
    CHECK(different.size() == names.size());
    CHECK(names.front() == "time_ns");
  }
  CHECK(event_schema().size() == 8);
}

TEST_CASE("a recording replays through a session, filtered, and without events of its own") {
  const TempFile file;
  {
    const auto sink = recording_sink(file.path(), host());
    for (const Event& event : sample_events::all()) sink->on_event(event);
  }
  for (const bool filtered : {false, true}) {
    SessionOptions options;
    options.reader = Reader::kPoll;
    if (filtered) options.filter.include_tool("nothing");
    Session session(recording_source(file.path()), options);
    CHECK(session.host() == host());
    std::vector<Event> events;
    const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
    session.start();
    while (!session.finished()) session.poll(std::chrono::milliseconds(0));
    session.stop();
    if (!filtered) CHECK(jsons(events) == jsons(sample_events::all()));
    if (filtered) CHECK(events.size() == 3);  // two losses and the end
    CHECK(session.statistics().losses.empty());
  }
}
