// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include <fcntl.h>

#include <cerrno>
#include <csignal>

#include <doctest/doctest.h>

#include <tracer/recording.hpp>

#include "collect.hpp"
#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// A session of three events and its end, with these sinks.
std::vector<Event> run_with(std::vector<std::unique_ptr<Sink>> sinks,
                            std::vector<std::optional<Problem>>* problems = nullptr) {
  auto owned = std::make_unique<wire::WireSource>();
  wire::WireSource& source = *owned;
  Session session(Source(std::move(owned)), collect::polled());
  std::vector<Event> events;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  std::vector<Sink*> kept;
  for (auto& sink : sinks) kept.push_back(&session.add_sink(std::move(sink)));
  session.start();
  const wire::Who who{.pid = 42, .start_ns = 1000};
  source.push(wire::start_record(who));
  source.push(wire::exec_record(who, {.time_ns = 1001, .program_start_ns = 1000}));
  source.push(wire::exit_record(who, {.time_ns = 1002, .program_start_ns = 1001}));
  session.poll(std::chrono::milliseconds(0));
  session.stop();
  if (problems != nullptr)
    for (const Sink* sink : kept) problems->push_back(sink->problem());
  return events;
}

std::vector<std::unique_ptr<Sink>> one(std::unique_ptr<Sink> sink) {
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(std::move(sink));
  return sinks;
}

}  // namespace

TEST_CASE("each sink gets every event") {
  const TempFile recording;
  const TempFile json;
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(recording_sink(recording.path(), HostInfo{}));
  sinks.push_back(json_sink(json.path(), HostInfo{}));
  std::vector<std::optional<Problem>> problems;
  const auto events = run_with(std::move(sinks), &problems);
  REQUIRE(events.size() == 4);
  CHECK_FALSE(problems.at(0).has_value());
  CHECK_FALSE(problems.at(1).has_value());

  std::string lines = to_json(HostInfo{}) + '\n';
  for (const Event& event : events) lines += to_json(event) + '\n';
  CHECK(json.text() == lines);
  RecordingReader reader(recording.path());
  for (const Event& event : events) {
    const auto back = reader.next();
    REQUIRE(back.has_value());
    CHECK(to_json(*back) == to_json(event));
  }
  CHECK_FALSE(reader.next().has_value());
  CHECK_FALSE(reader.damage().any());
}

TEST_CASE("a sink on a full disk says so and the session goes on") {
  for (const bool json : {false, true}) {
    std::vector<std::optional<Problem>> problems;
    const auto events =
        run_with(one(json ? json_sink("/dev/full", HostInfo{}) : recording_sink("/dev/full", HostInfo{})), &problems);
    CHECK(events.size() == 4);
    CHECK(events.back().kind() == EventKind::kSessionEnd);
    REQUIRE(problems.at(0).has_value());
    CHECK(problems[0]->code == ErrorCode::kFileUnwritable);
    CHECK(problems[0]->error_number == ENOSPC);
    CHECK(problems[0]->what.find("/dev/full") != std::string::npos);
    CHECK_FALSE(problems[0]->fix.empty());
  }
}

TEST_CASE("a sink that failed stays quiet over many events") {
  for (const bool json : {false, true}) {
    const auto sink = json ? json_sink("/dev/full", HostInfo{}) : recording_sink("/dev/full", HostInfo{});
    for (int i = 0; i < 3000; ++i) sink->on_event(Loss{1, std::string(200, 'x'), 1});
    sink->flush();
    CHECK(sink->problem()->error_number == ENOSPC);
  }
}

TEST_CASE("a sink whose reader went away says so") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[0]);
  const auto previous = ::signal(SIGPIPE, SIG_IGN);
  const auto sink = json_sink(ends[1], "a pipe", HostInfo{});
  sink->flush();
  ::signal(SIGPIPE, previous);
  REQUIRE(sink->problem().has_value());
  CHECK(sink->problem()->error_number == EPIPE);
  CHECK(sink->problem()->what.find("a pipe") != std::string::npos);
}

TEST_CASE("a file that can't be created is told at once") {
  const TempFile file;
  for (const bool json : {false, true}) {
    const auto make = [&] {
      const auto path = file.folder() / "missing" / "file";
      static_cast<void>(json ? json_sink(path, HostInfo{}) : recording_sink(path, HostInfo{}));
    };
    try {
      make();
      FAIL("created");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kFileUnwritable);
      CHECK(error.error_number() == ENOENT);
    }
  }
}

TEST_CASE("a flush makes what came before readable") {
  const TempFile file;
  const auto sink = recording_sink(file.path(), HostInfo{});
  sink->on_event(Loss{1, "a", 1});
  sink->flush();
  RecordingReader reader(file.path());
  CHECK(reader.next().has_value());
  CHECK(reader.damage().skipped_bytes == 0);
}
