// SPDX-License-Identifier: Apache-2.0
/// Prints how fast streams are written and read: stream_bench [RECORDING]. Without one it makes up lives of processes.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/session.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>

#include "lives.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"
#include "stream/stream_writer.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::vector<Event> made_up(std::uint32_t count) {
  const Process shell = lives::shell();
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < count; ++i) lives::add(events, 2000 + i, shell);
  return events;
}

Bytes stream_of(const std::vector<Event>& events) {
  StreamWriter writer(HostInfo{});
  Bytes bytes;
  for (const Event& event : events) {
    writer.append(event);
    put_bytes(bytes, writer.ready());
    writer.clear_ready();
  }
  writer.close_frame();
  put_bytes(bytes, writer.ready());
  return bytes;
}

template <class OnFrame>
void read(const Bytes& bytes, OnFrame on_frame) {
  StreamReader reader;
  constexpr std::size_t kPiece = 64u << 10;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    reader.feed(std::span(bytes).subspan(at, std::min(kPiece, bytes.size() - at)));
    for (;;) {
      const StreamReader::Step step = reader.step();
      if (step == StreamReader::Step::kFrame) on_frame(reader.frame());
      if (step != StreamReader::Step::kFrame && step != StreamReader::Step::kHeader) break;
    }
  }
}

/// A session that replays a recording into a queue, and a reader that counts. Returns the events that came.
std::uint64_t counted_by_a_reader(const std::filesystem::path& file, ReaderMode by) {
  SessionOptions options;
  options.reader = by;
  Session session(recording_source(file), options);
  Queue queue = session.queue();
  session.start();
  std::array<Event, 256> events;
  std::uint64_t count = 0;
  while (!queue.ended()) {
    queue.wait(std::chrono::milliseconds(-1));
    count += queue.read(events);
  }
  return count;
}

/// The best of five: the machine has other things to do.
double best_seconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

void report(const char* what, std::size_t events, double seconds) {
  std::printf("%-24s %8.2f M events/s  %6.0f ns/event\n", what, static_cast<double>(events) / seconds / 1e6,
              seconds * 1e9 / static_cast<double>(events));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Event> events;
  if (argc > 1) {
    RecordingReader reader{std::filesystem::path(argv[1])};
    while (auto event = reader.next()) events.push_back(std::move(*event));
  } else {
    events = made_up(100'000);
  }
  const Bytes bytes = stream_of(events);
  std::printf("%zu events, %.1f bytes/event\n", events.size(),
              static_cast<double>(bytes.size()) / static_cast<double>(events.size()));

  std::uint64_t checked = 0;
  report("events to stream", events.size(), best_seconds([&] { checked += stream_of(events).size(); }));
  report("stream to columns", events.size(),
         best_seconds([&] { read(bytes, [&](const ColumnFrame& frame) { checked += frame.rows(); }); }));
  EventRows rows;
  report("stream to events", events.size(), best_seconds([&] {
           read(bytes, [&](const ColumnFrame& frame) {
             rows.open(frame);
             while (rows.next().kind() != EventKind::kNone) ++checked;
           });
         }));
  char folder[] = "/tmp/stream-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  const std::filesystem::path file = std::filesystem::path(folder) / "recording";
  {
    const auto sink = recording_sink(file, HostInfo{});
    sink->write(events);
    const Event end = SessionEnd{};
    sink->write({&end, 1});
    sink->flush();
  }
  for (const ReaderMode by : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    std::uint64_t came = 0;
    report(by == ReaderMode::kPoll ? "recording, queue, kPoll" : "recording, queue, own", events.size(),
           best_seconds([&] { came = counted_by_a_reader(file, by); }));
    std::printf("  %llu of %zu came\n", static_cast<unsigned long long>(came), events.size() + 1);
  }
  std::filesystem::remove_all(folder);
  return checked == 0 ? 1 : 0;
}
