// SPDX-License-Identifier: Apache-2.0
/// Sessions that write recordings, and sessions that replay them.
#include <tracer/recording.hpp>
#include <tracer/session.hpp>

#include <doctest/doctest.h>

#include <tracer/testing.hpp>

#include "builders.hpp"
#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;

TEST_CASE("each sink of a session gets every event") {
  const TempFile recording;
  const TempFile json;
  testing::FakeSource source;
  std::vector<std::string> lines;
  {
    Session session(source.source(), {});
    session.add_sink(recording_sink(recording.path(), session.host()));
    session.add_sink(json_sink(json.path(), session.host()));
    lines.push_back(to_json(session.host()));
    const Subscription all = session.on_any([&](const Event& event) { lines.push_back(to_json(event)); });
    session.start();
    for (const Event& event : sample_events::all()) source.push(event);
    source.finish();
    session.stop();
  }
  REQUIRE(lines.size() == sample_events::all().size() + 2);
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  CHECK(json.text() == text);
  RecordingReader reader(recording.path());
  CHECK(to_json(reader.host()) == lines[0]);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto back = reader.next();
    REQUIRE(back.has_value());
    CHECK(to_json(*back) == lines[i]);
  }
  CHECK_FALSE(reader.next().has_value());
}

TEST_CASE("a recording replays through a session, filtered, and without events of its own") {
  const TempFile file;
  HostInfo host;
  host.host_name = "there";
  {
    const auto sink = recording_sink(file.path(), host);
    const auto events = sample_events::all();
    sink->write(events);
    sink->flush();
  }
  for (const ReaderMode mode : {ReaderMode::kPoll, ReaderMode::kOwnThread}) {
    for (const bool filtered : {false, true}) {
      SessionOptions options;
      options.reader = mode;
      if (filtered) options.filter.include_tool("nothing");
      Session session(recording_source(file.path()), options);
      CHECK(session.host().host_name == "there");
      std::vector<std::string> seen;
      Queue queue = session.queue();
      session.start();
      std::array<Event, 16> events;
      while (!queue.ended()) {
        queue.wait(std::chrono::milliseconds(-1));
        const std::size_t count = queue.read(events);
        for (std::size_t i = 0; i < count; ++i) seen.push_back(to_json(events[i]));
      }
      std::vector<std::string> wanted;
      for (const Event& event : sample_events::all()) {
        const bool about_processes = event.kind() >= EventKind::kProcessStart;
        if (!filtered || !about_processes) wanted.push_back(to_json(event));
      }
      CHECK(seen == wanted);
      CHECK(session.finished());
    }
  }
}
