// SPDX-License-Identifier: Apache-2.0
/// Writes a recording whose figures are known: make_recording FILE PROCESSES [PER_TASK [TEXT [extreme]]]
/// Process i (from 0) of task i / PER_TASK uses (i % 100 + 1) ms of CPU time in 1 s of life, and begins i ms after the
/// first; each 50th fails. With PER_TASK 0 nothing belongs to a task. TEXT is then part of every name. With `extreme`
/// each lasts from 1 to the last nanosecond, and consumes as much as there are numbers for.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <tracer/sink.hpp>

#include "builders.hpp"

namespace {

constexpr std::uint64_t kBegin = 1'000'000'000'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kTools = 40;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

tracer::Ledger ledger_of(std::uint64_t cpu_ns) {
  tracer::Ledger ledger;
  ledger.cpu_ns = cpu_ns;
  ledger.disk_ns = 300 * kMillisecond;
  ledger.wall_ns = kSecond;
  ledger.sleep_ns = ledger.wall_ns - ledger.cpu_ns - ledger.disk_ns;
  return ledger;
}

class Maker {
 public:
  Maker(std::size_t per_task, std::string text) : per_task_(per_task), text_(std::move(text)) {}

  void be_extreme() { extreme_ = true; }

  std::shared_ptr<const tracer::Process> process(std::size_t i) {
    tracer::Context context;
    if (per_task_ != 0) {
      const std::size_t task = i / per_task_;
      context.pipeline = "pipeline" + text_;
      context.run = context.run_id = "run" + text_;
      context.step = "STEP_" + std::to_string(task % 5) + text_;
      context.task = *context.step + " (S" + std::to_string(task) + ")";
      context.task_id = std::to_string(task);
      context.sample = "S" + std::to_string(task) + text_;
    }
    const std::string tool = "tool" + std::to_string(i % kTools) + text_;
    build::ProcessSpec spec;
    spec.pid = static_cast<std::uint32_t>(1000 + i);
    spec.start_ns = extreme_ ? 1 : kBegin + i * kMillisecond;
    spec.comm = "comm";
    spec.exe = "/usr/bin/" + tool;
    spec.argv = std::vector<std::string>{tool, "--number", std::to_string(i), "input" + text_};
    spec.tool = tool;
    spec.context = context;
    spec.cgroup.path = "/group" + text_;
    return build::process(spec);
  }

  tracer::Event start(std::size_t i) {
    tracer::ProcessStart start;
    start.process = process(i);
    start.time_ns = start.process->start_ns;
    return start;
  }

  tracer::Event exit(std::size_t i) {
    tracer::ProcessExit exit;
    exit.process = process(i);
    exit.start_ns = exit.process->start_ns;
    exit.begin_ns = exit.start_ns;
    exit.end_ns = exit.time_ns = exit.start_ns + kSecond;
    exit.exit_code = i % 50 == 49 ? 1 : 0;
    exit.threads = 1;
    tracer::Account& account = exit.account;
    account.cpu_ns = (i % 100 + 1) * kMillisecond;
    account.peak_rss_bytes = (i % 64 + 1) << 20u;
    account.read_bytes = 1000;
    account.written_bytes = 2000;
    account.ledger = ledger_of(*account.cpu_ns);
    if (extreme_) {
      exit.end_ns = exit.time_ns = kMost;
      account.cpu_ns = account.peak_rss_bytes = account.read_bytes = account.written_bytes = kMost;
      account.ledger->wall_ns = account.ledger->cpu_ns = account.ledger->disk_ns = account.ledger->sleep_ns = kMost;
    }
    exit.program.start_ns = exit.start_ns;
    exit.program.end_ns = exit.end_ns;
    exit.program.program = exit.process->program;
    exit.program.account = account;
    return exit;
  }

 private:
  std::size_t per_task_;
  std::string text_;
  bool extreme_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: make_recording FILE PROCESSES [PER_TASK [TEXT [extreme]]]\n", stderr);
    return 2;
  }
  const std::size_t processes = std::strtoul(argv[2], nullptr, 10);
  Maker maker(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0, argc > 4 ? argv[4] : "");
  if (argc > 5) maker.be_extreme();
  tracer::HostInfo host;
  host.host_name = std::string("host") + (argc > 4 ? argv[4] : "");
  host.cpu_count = 8;
  host.memory_bytes = std::uint64_t{16} << 30u;
  host.wall_offset_ns = 1'700'000'000 * kSecond;
  const auto sink = tracer::recording_sink(argv[1], host);
  std::vector<tracer::Event> events;
  const auto write = [&](bool all) {
    if (events.size() < 1000 && !all) return;
    sink->write(events);
    events.clear();
  };
  // Each ends when 1000 others have begun.
  for (std::size_t i = 0; i < processes + 1000; ++i) {
    if (i < processes) events.push_back(maker.start(i));
    if (i >= 1000) events.push_back(maker.exit(i - 1000));
    write(false);
  }
  tracer::SessionEnd end = build::end(kBegin + (processes + 1000) * kMillisecond);
  end.processes_started = end.processes_ended = end.exits_delivered = processes;
  end.missing_families = std::vector<std::string>{};
  events.emplace_back(end);
  write(true);
  sink->flush();
  return sink->problem() ? 1 : 0;
}
