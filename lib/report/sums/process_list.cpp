// SPDX-License-Identifier: Apache-2.0
#include "report/sums/process_list.hpp"

#include <algorithm>

#include "context/task_name.hpp"
#include "report/sums/rows.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostCommandBytes = 160;

std::uint64_t cpu_of(const ListedProcess& process) { return process.cpu_ns.value_or(0); }
bool has_more(const ListedProcess& a, const ListedProcess& b) { return cpu_of(a) > cpu_of(b); }

std::string command_of(const Program& program) {
  std::string command;
  if (program.argv) {
    for (const std::string& word : *program.argv) {
      if (command.size() > kMostCommandBytes) break;
      if (!command.empty()) command += ' ';
      command.append(word, 0, kMostCommandBytes + 1);
    }
  }
  if (command.empty()) command = program.exe.value_or(program.comm.value_or(""));
  if (command.size() <= kMostCommandBytes) return command;
  // Not in the middle of a character.
  std::size_t end = kMostCommandBytes;
  while (end > kMostCommandBytes - 3 && (static_cast<unsigned char>(command[end]) & 0xc0u) == 0x80u) --end;
  return command.substr(0, end) + "…";
}

}  // namespace

bool ProcessList::has_room(std::uint64_t cpu_ns) const {
  return heap_.size() < most_ || (!heap_.empty() && cpu_ns > cpu_of(heap_.front()));
}

void ProcessList::began(const ProcessExec& exec) {
  if (!exec.ended.start_ns) begins_[id_of(*exec.process)] = exec.time_ns;
}

void ProcessList::add(const ProcessExit& exit) {
  begins_.erase({exit.start_ns, exit.process->pid});
  if (!has_room(least_cpu_ns(exit.account).value_or(0))) return;
  ListedProcess process;
  process.start_ns = std::max(exit.start_ns, exit.begin_ns);
  process.end_ns = exit.end_ns;
  process.failed = exit.failed();
  process.exit_code = exit.exit_code;
  process.exit_signal = exit.exit_signal;
  const Account& account = exit.account;
  if (account.peak_rss_bytes) {
    process.peak_bytes = Figure{*account.peak_rss_bytes, Bound::kExact};
  } else if (account.peak_rss_at_least_bytes) {
    process.peak_bytes = Figure{*account.peak_rss_at_least_bytes, Bound::kAtLeast};
  } else if (account.peak_rss_at_most_bytes) {
    process.peak_bytes = Figure{*account.peak_rss_at_most_bytes, Bound::kAtMost};
  }
  take(std::move(process), *exit.process, account);
}

void ProcessList::add(const ProcessSample& living) {
  if (!has_room(living.account.cpu_ns.value_or(0))) return;
  const auto begin = begins_.find(id_of(*living.process));
  ListedProcess process;
  process.start_ns = begin == begins_.end() ? living.process->start_ns : begin->second;
  process.end_ns = living.time_ns;
  process.living = true;
  HeldMemory held;
  held.add(living);
  if (const auto bytes = held.bytes()) process.peak_bytes = Figure{*bytes, Bound::kAtLeast};
  take(std::move(process), *living.process, living.account);
}

void ProcessList::take(ListedProcess process, const Process& of, const Account& account) {
  process.tool = of.program->tool.value_or(kNoTool);
  process.command = command_of(*of.program);
  process.task = task_name(*of.context);
  process.pid = of.pid;
  process.cpu_ns = account.cpu_ns;
  process.read_bytes = bytes_read(account);
  process.written_bytes = bytes_written(account);
  process.ledger = account.ledger;
  process.process_ledger = account.process_ledger;
  heap_.push_back(std::move(process));
  std::push_heap(heap_.begin(), heap_.end(), has_more);
  if (heap_.size() <= most_) return;
  std::pop_heap(heap_.begin(), heap_.end(), has_more);
  heap_.pop_back();
}

std::vector<ListedProcess> ProcessList::in_order() const {
  std::vector<ListedProcess> all = heap_;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return cpu_of(a) != cpu_of(b) ? cpu_of(a) > cpu_of(b) : a.start_ns < b.start_ns;
  });
  return all;
}

}  // namespace tracer::internal
