// SPDX-License-Identifier: Apache-2.0
#include "process_list.hpp"

#include <algorithm>

#include "summary/rows.hpp"
#include "task_name.hpp"

namespace tracer::python {
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

void ProcessList::add(const ProcessExit& exit) {
  const std::uint64_t cpu_ns = exit.account.cpu_ns.value_or(0);
  if (heap_.size() >= most_ && (heap_.empty() || cpu_ns <= cpu_of(heap_.front()))) return;
  ListedProcess process;
  process.tool = exit.process->program->tool.value_or(internal::kNoTool);
  process.command = command_of(*exit.process->program);
  process.task = task_name(*exit.process->context);
  process.pid = exit.process->pid;
  process.start_ns = exit.start_ns;
  process.end_ns = exit.end_ns;
  process.failed = exit.failed();
  process.exit_code = exit.exit_code;
  process.exit_signal = exit.exit_signal;
  process.cpu_ns = exit.account.cpu_ns;
  process.peak_bytes = exit.account.peak_rss_bytes;
  process.read_bytes = exit.account.read_bytes;
  process.written_bytes = exit.account.written_bytes;
  process.ledger = exit.account.ledger;
  process.process_ledger = exit.account.process_ledger;
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

}  // namespace tracer::python
