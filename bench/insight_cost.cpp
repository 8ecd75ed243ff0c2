// SPDX-License-Identifier: Apache-2.0
/// Prints what findings and the history cost in user space, paired: insight_cost [ROUNDS]. Sessions without findings,
/// with them, and with a history besides take turns, each in a process of its own: 50,000 processes in 5,000 tasks,
/// once task after task, from the kernel's bytes to a recording; and once all living at the same time, sampled twice:
/// these come as events, so that their CPU ratio leaves out all stages before. No privileges, no kernel.
#include <malloc.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/session.hpp>
#include <tracer/sink.hpp>

#include "wire_builder.hpp"
#include "wire_source.hpp"

namespace {

constexpr std::uint32_t kTasks = 5'000;
constexpr std::uint32_t kOfTask = 10;
constexpr std::uint64_t kMs = 1'000'000;

enum class With : std::uint8_t { kNothing, kFindings, kHistory };
constexpr std::array kAll = {With::kNothing, With::kFindings, With::kHistory};

struct Cost {
  double cpu_ns = 0;  ///< Of a life, or of a sample.
  double heap_bytes = 0;
  double resident_bytes = 0;
};

/// A session makes findings only of sources that ask for it.
class Records final : public wire::WireSource {
 public:
  bool wants_findings() const noexcept override { return true; }
};

/// Likewise, of events that were correlated before.
class Events final : public wire::WireSource {
 public:
  bool wants_findings() const noexcept override { return true; }
  void push_event(tracer::Event event) { events_.push_back(std::move(event)); }
  bool drain(tracer::internal::Feed& feed, const tracer::internal::DrainLimit& limit) override {
    for (std::size_t n = 0; n < limit.records && !events_.empty(); ++n) {
      feed.event(std::move(events_.front()));
      events_.pop_front();
    }
    return !events_.empty();
  }
  bool is_empty() const noexcept { return events_.empty(); }

 private:
  std::deque<tracer::Event> events_;
};

[[noreturn]] void give_up(const char* why) {
  fmt::print(stderr, "insight_cost: {}\n", why);
  ::_exit(EXIT_FAILURE);
}

double cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

Cost now(double since_ns, std::uint32_t count) {
  const struct mallinfo2 heap = ::mallinfo2();
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return {(cpu_ns() - since_ns) / count, static_cast<double>(heap.uordblks + heap.hblkhd),
          resident * static_cast<double>(::sysconf(_SC_PAGESIZE))};
}

tracer::SessionOptions options_of(With with, const std::string& folder) {
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  options.findings = with != With::kNothing;
  if (with == With::kHistory) options.history = folder + "/history.db";
  return options;
}

tracer_wire_account consumed(std::uint64_t seed) {
  tracer_wire_account account{};
  account.cpu_ns = 400'000 + seed % 100'000;
  account.user_sampled_ns = kMs;
  account.read_bytes = 816;
  account.read_calls = 3;
  return account;
}

tracer_wire_waits waited(std::uint64_t life_ns) {
  tracer_wire_waits waits{};
  waits.wall_ns = life_ns;
  waits.cpu_ns = life_ns / 2;
  waits.wait_ns[TRACER_WAIT_DISK] = life_ns - waits.cpu_ns;
  waits.threads = waits.limits_known = 1;
  return waits;
}

void push_begin(wire::WireSource& source, wire::Who& who, const std::string& folder, std::vector<std::string> argv) {
  source.push(wire::start_record(who));
  wire::Exec exec{.time_ns = who.start_ns + kMs, .program_start_ns = who.start_ns, .cwd = folder, .argv = argv};
  exec.exe = "/usr/bin/" + argv.front();
  exec.total = consumed(who.pid);
  source.push(wire::exec_record(who, exec));
}

void push_end(wire::WireSource& source, const wire::Who& who, std::uint64_t end_ns) {
  wire::Exit exit{.time_ns = end_ns, .program_start_ns = who.start_ns + kMs, .flags = TRACER_FLAG_EXECUTED};
  exit.total = consumed(who.pid + 7);
  exit.waits = waited(end_ns - who.start_ns);
  source.push(wire::exit_record(who, exit));
}

/// A script in the work folder of a task of Nextflow, and what it starts, one after another.
void push_task(wire::WireSource& source, const wire::Who& shell, std::uint32_t number) {
  const std::uint64_t begin_ns = 1'000'000'000'000 + number * 100 * kMs;
  const std::string folder = fmt::format("/nowhere/work/{:02x}/{:030x}", number % 256, number);
  const std::uint32_t pid = 2 + number * kOfTask;
  wire::Who leader = wire::child_of(shell, pid, begin_ns);
  push_begin(source, leader, folder, {"bash", "-ue", ".command.run"});
  for (std::uint32_t i = 1; i < kOfTask; ++i) {
    wire::Who child = wire::child_of(leader, pid + i, begin_ns + i * 9 * kMs);
    push_begin(source, child, folder, {"samtools", "flagstat", fmt::format("sample_{}.bam", number)});
    push_end(source, child, child.start_ns + 8 * kMs);
  }
  push_end(source, leader, begin_ns + 95 * kMs);
}

Cost of_sequence(With with, const std::string& folder) {
  auto owned = std::make_unique<Records>();
  wire::WireSource& source = *owned;
  tracer::Session session(tracer::Source(std::move(owned)), options_of(with, folder));
  const tracer::SinkHandle sink =
      session.add_sink(tracer::recording_sink("/dev/null", session.host()), {.capacity_bytes = std::size_t{4} << 30});
  std::uint64_t ledgers = 0;
  const tracer::Subscription finishes = session.on<tracer::TaskFinish>(
      [&ledgers](const tracer::TaskFinish& task) { ledgers += task.task_ledger ? 1 : 0; });
  const wire::Who shell{.pid = 1, .start_ns = 5, .comm = "bash"};
  source.push(wire::start_record(shell));
  session.start();
  double spent_ns = 0;
  for (std::uint32_t number = 0; number < kTasks; ++number) {
    push_task(source, shell, number);
    if (number % 32 != 31 && number + 1 != kTasks) continue;
    const double begin_ns = cpu_ns();
    while (source.position() != source.end_position()) session.poll(std::chrono::milliseconds(0));
    spent_ns += cpu_ns() - begin_ns;
  }
  const double stop_ns = cpu_ns();
  Cost cost = now(stop_ns, 1);
  session.stop();
  cost.cpu_ns = (spent_ns + cpu_ns() - stop_ns) / (kTasks * kOfTask);
  // Else this compares nothing with nothing.
  if (ledgers != (with == With::kNothing ? 0 : kTasks)) give_up("tasks have ledgers where they should not, or none");
  return cost;
}

tracer::Account account_of(std::uint64_t life_ns) {
  tracer::Account account;
  account.cpu_ns = life_ns / 2;
  account.read_bytes = account.written_bytes = life_ns / 100;
  account.voluntary_switches = life_ns / kMs;
  tracer::Ledger& threads = account.ledger.emplace();
  threads.wall_ns = life_ns;
  threads.cpu_ns = life_ns / 2;
  threads.disk_ns = life_ns - threads.cpu_ns;
  tracer::ProcessLedger& process = account.process_ledger.emplace();
  process.life_ns = life_ns;
  process.running_ns = life_ns / 2;
  process.disk_ns = life_ns - process.running_ns;
  return account;
}

/// What is known of processes is held here, too, as the stages before hold it of those that live.
Cost of_living(With with, const std::string& folder) {
  constexpr std::uint64_t kBegin_ns = 1'000'000'000'000;
  std::vector<std::shared_ptr<const tracer::Process>> processes;
  std::vector<tracer::Event> begins;
  std::vector<std::vector<tracer::Event>> snapshots(2);
  for (std::uint32_t number = 0; number < kTasks; ++number) {
    tracer::Context context;
    context.pipeline = "rnaseq";
    context.step = fmt::format("STEP_{}", number % 20);
    context.task = fmt::format("STEP_{} (SAMPLE_{})", number % 20, number);
    context.run_key = tracer::Key{1};
    context.task_key = tracer::Key{100 + number};
    const auto shared = std::make_shared<const tracer::Context>(context);
    for (std::uint32_t i = 0; i < kOfTask; ++i) {
      tracer::Process process;
      process.pid = 2 + number * kOfTask + i;
      process.start_ns = kBegin_ns + process.pid * 1000ull;
      process.parent_pid = i == 0 ? 1 : 2 + number * kOfTask;
      process.context = shared;
      tracer::Program program;
      program.tool = i == 0 ? "bash" : "samtools flagstat";
      program.exe = i == 0 ? "/usr/bin/bash" : "/usr/bin/samtools";
      process.program = std::make_shared<const tracer::Program>(program);
      processes.push_back(std::make_shared<const tracer::Process>(process));
      begins.emplace_back(tracer::ProcessStart{process.start_ns, processes.back(), {}});
      if (i == 0) {
        tracer::TaskStart start;
        start.time_ns = start.start_ns = process.start_ns;
        start.context = shared;
        start.pid = process.pid;
        begins.emplace_back(start);
      }
    }
  }
  for (std::size_t round = 0; round < snapshots.size(); ++round) {
    const std::uint64_t time_ns = kBegin_ns + (round + 1) * 5000 * kMs;
    for (const auto& process : processes) {
      tracer::ProcessSample sample;
      sample.time_ns = time_ns;
      sample.process = process;
      sample.threads = 1;
      sample.account = account_of(time_ns - process->start_ns);
      snapshots[round].emplace_back(std::move(sample));
    }
    tracer::SnapshotEnd end;
    end.time_ns = time_ns;
    snapshots[round].emplace_back(end);
  }
  auto owned = std::make_unique<Events>();
  Events& source = *owned;
  tracer::Session session(tracer::Source(std::move(owned)), options_of(with, folder));
  session.start();
  for (const tracer::Event& event : begins) source.push_event(event);
  begins.clear();
  while (!source.is_empty()) session.poll(std::chrono::milliseconds(0));
  double spent_ns = 0;
  for (auto& snapshot : snapshots) {
    for (const tracer::Event& event : snapshot) source.push_event(event);
    snapshot.clear();
    const double begin_ns = cpu_ns();
    while (!source.is_empty()) session.poll(std::chrono::milliseconds(0));
    spent_ns += cpu_ns() - begin_ns;
  }
  Cost cost = now(0, 1);
  cost.cpu_ns = spent_ns / static_cast<double>(processes.size() * snapshots.size());
  return cost;
}

/// In a process of its own, so that none finds the heap that another has left.
Cost apart(Cost (*measure)(With, const std::string&), With with) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::exit(EXIT_FAILURE);
  std::string folder = (std::filesystem::temp_directory_path() / "insight_cost.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::exit(EXIT_FAILURE);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Cost cost = measure(with, folder);
    ::_exit(::write(ends[1], &cost, sizeof cost) == static_cast<ssize_t>(sizeof cost) ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  Cost cost;
  const bool came = ::read(ends[0], &cost, sizeof cost) == static_cast<ssize_t>(sizeof cost);
  ::waitpid(pid, nullptr, 0);
  std::filesystem::remove_all(folder);
  ::close(ends[0]);
  ::close(ends[1]);
  if (!came) std::exit(EXIT_FAILURE);
  return cost;
}

std::string spread(std::vector<double> values, double unit) {
  std::sort(values.begin(), values.end());
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", values[values.size() / 2] / unit, values.front() / unit,
                     values.back() / unit);
}

void compare(const char* what, const char* per, Cost (*measure)(With, const std::string&), std::uint32_t rounds) {
  std::array<std::vector<Cost>, kAll.size()> costs;
  for (std::uint32_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < kAll.size(); ++i) {
      const std::size_t turn = (round + i) % kAll.size();
      costs[turn].push_back(apart(measure, kAll[turn]));
    }
  const auto figures = [&](std::size_t which, double Cost::*figure, bool ratio) {
    std::vector<double> made;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const double base = costs[0][round].*figure;
      made.push_back(ratio ? costs[which][round].*figure / base : costs[which][round].*figure - base);
    }
    return made;
  };
  std::vector<double> alone;
  for (const Cost& cost : costs[0]) alone.push_back(cost.cpu_ns);
  fmt::print("{}: {} us a {} without findings\n", what, spread(alone, 1000), per);
  for (const std::size_t which : {std::size_t{1}, std::size_t{2}}) {
    fmt::print("  with {}: CPU {} times; heap {} MiB more, resident {} MiB more\n",
               which == 1 ? "findings" : "findings and history", spread(figures(which, &Cost::cpu_ns, true), 1),
               spread(figures(which, &Cost::heap_bytes, false), 1 << 20),
               spread(figures(which, &Cost::resident_bytes, false), 1 << 20));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 7);
  if (rounds == 0) return EXIT_FAILURE;
  compare("50,000 processes in 5,000 tasks, task after task", "life", &of_sequence, rounds);
  compare("50,000 living processes in 5,000 tasks", "sample", &of_living, rounds);
}
