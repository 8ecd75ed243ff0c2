// SPDX-License-Identifier: Apache-2.0
/// Prints what the state costs: state_bench. What each process adds while nobody looks, and how long a look takes and
/// how large it is, with 20,000 tasks of which 10 or 1,000 have changed, and with 1,000 that run. No privileges.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/event.hpp>
#include <tracer/state.hpp>

#include "builders.hpp"
#include "report/state_tables.hpp"

namespace {

using namespace tracer;

constexpr std::uint64_t kSecond = 1'000'000'000;
const std::vector<std::string> kTenFields = {"processes", "living",         "failed",        "wall_ns",
                                             "cpu_ns",    "read_bytes",     "written_bytes", "memory_bytes",
                                             "bound_by",  "cpu_utilization"};

std::uint64_t now_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

std::shared_ptr<const Process> process_in(std::uint32_t pid, std::uint64_t task) {
  Context context;
  context.run_key = Key{1};
  context.task_key = Key{1000 + task};
  context.pipeline = "nf-core/rnaseq";
  context.run = "boring_curie";
  context.step = "STEP_" + std::to_string(task % 20);
  context.task = "STEP (sample " + std::to_string(task) + ")";
  return build::process({.pid = pid, .start_ns = kSecond, .tool = "samtools", .context = std::move(context)});
}

void fill(Account& account) {
  account.cpu_ns = kSecond;
  account.read_bytes = account.written_bytes = 1 << 20;
  account.peak_rss_bytes = 10 << 20;
  account.ledger.emplace().wall_ns = account.process_ledger.emplace().life_ns = 9 * kSecond;
}

ProcessExit exit_of(const std::shared_ptr<const Process>& process) {
  ProcessExit exit = build::exit(process->pid, 10 * kSecond);
  exit.process = process;
  exit.start_ns = exit.begin_ns = kSecond;
  exit.end_ns = 10 * kSecond;
  fill(exit.account);
  exit.program = {kSecond, exit.end_ns, process->program, exit.account};
  return exit;
}

ProcessSample sample_of(const std::shared_ptr<const Process>& process) {
  ProcessSample sample;
  sample.process = process;
  sample.time_ns = 5 * kSecond;
  fill(sample.account);
  return sample;
}

std::string since(const std::string& reply) {
  const std::size_t from = reply.find(':') + 2;
  return reply.substr(from, reply.find('"', from) - from);
}

/// The median of the CPU time of a look in ms, each after `change`, and the size of its last reply.
template <class Change>
std::pair<double, std::size_t> look(internal::StateTables& state, const StateQuery& query, const Change& change) {
  StateQuery next = query;
  for (std::string reply; reply.empty() || reply.find("\"more\":true") != std::string::npos; next.since = since(reply))
    reply = state.json(next);
  std::vector<double> times;
  std::size_t bytes = 0;
  for (int round = 0; round < 21; ++round) {
    change();
    const std::uint64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    const std::string reply = state.json(next);
    times.push_back(static_cast<double>(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e6);
    bytes = reply.size();
    next.since = since(reply);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], bytes};
}

}  // namespace

int main() {
  constexpr std::uint32_t kTasks = 20'000;
  std::vector<std::shared_ptr<const Process>> processes;
  for (std::uint32_t task = 0; task < kTasks; ++task) processes.push_back(process_in(task + 1, task));
  std::vector<Event> events;
  for (const auto& process : processes) events.emplace_back(exit_of(process));
  internal::StateTables state("s", std::make_shared<internal::Accounts>(), true);
  const std::size_t heap = mallinfo2().uordblks;
  for (const Event& event : events) state.add(event);
  fmt::print("bytes of a task: {}\n", (mallinfo2().uordblks - heap) / kTasks);
  const std::uint64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int round = 0; round < 5; ++round)
    for (const Event& event : events) state.add(event);
  fmt::print("an exit: {:.2f} us\n",
             static_cast<double>(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e3 / 5 / kTasks);
  // The others have finished.
  for (std::uint32_t task = 0; task < kTasks; ++task) {
    if (task % 20 == 0) continue;
    TaskFinish finish;
    finish.context = processes[task]->context;
    state.add(finish);
  }
  for (const std::size_t changed : {std::size_t{10}, std::size_t{1000}}) {
    const auto [ms, bytes] = look(state, {.fields = kTenFields}, [&] {
      for (std::size_t i = 0; i < changed; ++i) state.add(events[i * 20]);
    });
    fmt::print("a look, {} of {} tasks changed: {:.2f} ms, {} bytes\n", changed, kTasks, ms, bytes);
  }
  internal::StateTables living("s");
  std::vector<Event> samples;
  for (std::size_t i = 0; i < 1000; ++i) samples.emplace_back(sample_of(processes[i]));
  SnapshotEnd end;
  end.time_ns = 5 * kSecond;
  const Event snapshot(end);
  const auto [ms, bytes] = look(living, {.fields = kTenFields}, [&] {
    for (const Event& event : samples) living.add(event);
    living.add(snapshot);
  });
  fmt::print("a look, 1,000 running tasks: {:.2f} ms, {} bytes\n", ms, bytes);
  return 0;
}
