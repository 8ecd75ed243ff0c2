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

#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"
#include "stream/stream_writer.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::uint64_t scatter(std::uint64_t value) { return (value * 0x9e3779b97f4a7c15u) >> 40; }

Account account_of(std::uint64_t seed, bool with_ledger) {
  Account account;
  account.cpu_ns = 400'000 + scatter(seed) % 100'000;
  account.run_queue_ns = scatter(seed + 1) % 50'000;
  account.minor_faults = 90 + scatter(seed + 2) % 8;
  account.major_faults = 0;
  account.voluntary_switches = 1;
  account.involuntary_switches = scatter(seed + 3) % 3;
  account.peak_rss_bytes = 4096 * (300 + scatter(seed + 4) % 20);
  account.read_bytes = 816;
  account.written_bytes = 0;
  if (!with_ledger) return account;
  Ledger& ledger = account.ledger.emplace();
  ledger.cpu_ns = *account.cpu_ns;
  ledger.run_queue_ns = *account.run_queue_ns;
  ledger.child_ns = scatter(seed + 5) % 1000;
  ledger.other_ns = scatter(seed + 6) % 3000;
  ledger.wall_ns = ledger.cpu_ns + ledger.run_queue_ns + ledger.child_ns + ledger.other_ns;
  return account;
}

void add_life(std::vector<Event>& events, std::uint32_t pid, const Process& parent) {
  Process process = parent;
  process.pid = pid;
  process.start_ns = 1'000'000'000'000 + pid * 700'000ull + scatter(pid) % 100'000;
  process.parent_pid = parent.pid;
  process.parent_start_ns = parent.start_ns;
  events.emplace_back(ProcessStart{process.start_ns, std::make_shared<const Process>(process), {}});

  Program program = *parent.program;
  program.comm = "noop";
  program.exe = "/usr/bin/noop";
  program.argv = {{"noop", "--input", "sample_" + std::to_string(pid) + ".bam"}};
  process.program = std::make_shared<const Program>(program);
  const auto shared = std::make_shared<const Process>(process);
  const std::uint64_t exec_ns = process.start_ns + 100'000;
  ProcessExec exec{exec_ns, shared, {}, {}};
  exec.ended = {process.start_ns, exec_ns, parent.program, account_of(pid * 3, true)};
  events.emplace_back(std::move(exec));

  ProcessExit exit;
  exit.time_ns = exit.end_ns = exec_ns + 500'000 + scatter(pid) % 10'000;
  exit.process = shared;
  exit.start_ns = process.start_ns;
  exit.exit_code = 0;
  exit.threads = 1;
  exit.account = account_of(pid * 7, true);
  exit.program = {exec_ns, exit.end_ns, process.program, account_of(pid * 11, true)};
  events.emplace_back(std::move(exit));
}

std::vector<Event> made_up(std::uint32_t lives) {
  Process shell;
  shell.pid = 1000;
  shell.start_ns = 999'000'000'000;
  shell.uid = 0;
  Program bash;
  bash.comm = "bash";
  bash.exe = "/usr/bin/bash";
  bash.argv = {{"bash", "pipeline.sh"}};
  bash.cwd = "/data/run";
  shell.program = std::make_shared<const Program>(bash);
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < lives; ++i) add_life(events, 2000 + i, shell);
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
std::uint64_t counted_by_a_reader(const std::filesystem::path& file, Reader by) {
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
  for (const Reader by : {Reader::kOwnThread, Reader::kPoll}) {
    std::uint64_t came = 0;
    report(by == Reader::kPoll ? "recording, queue, kPoll" : "recording, queue, own", events.size(),
           best_seconds([&] { came = counted_by_a_reader(file, by); }));
    std::printf("  %llu of %zu came\n", static_cast<unsigned long long>(came), events.size() + 1);
  }
  std::filesystem::remove_all(folder);
  return checked == 0 ? 1 : 0;
}
