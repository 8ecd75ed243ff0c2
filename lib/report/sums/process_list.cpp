// SPDX-License-Identifier: Apache-2.0
#include "report/sums/process_list.hpp"

#include <algorithm>

#include "base/tool_name.hpp"
#include "report/sums/first_known.hpp"
#include "report/sums/rows.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostArgvBytes = 160;

std::uint64_t cpu_of(const ListedProcess& process) { return process.cpu_ns.value_or(0); }
bool has_more(const ListedProcess& a, const ListedProcess& b) { return cpu_of(a) > cpu_of(b); }

std::vector<std::string> head_of(const std::vector<std::string>& argv) {
  std::vector<std::string> head;
  std::size_t room = kMostArgvBytes;
  for (const std::string& word : argv) {
    if (word.size() > room) {
      // Not in the middle of a character.
      std::size_t end = room;
      while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xc0u) == 0x80u) --end;
      head.push_back(word.substr(0, end) + "…");
      return head;
    }
    room -= word.size();
    head.push_back(word);
  }
  return head;
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
  process.begin_ns = std::max(exit.start_ns, exit.begin_ns);
  process.end_ns = exit.end_ns;
  process.exit_code = exit.exit_code;
  process.exit_signal = exit.exit_signal;
  const Account& account = exit.account;
  process.memory_bytes =
      first_known(account.peak_rss_bytes, account.peak_rss_at_least_bytes, account.peak_rss_at_most_bytes);
  take(std::move(process), *exit.process, account);
}

void ProcessList::add(const ProcessSample& living) {
  if (!has_room(living.account.cpu_ns.value_or(0))) return;
  const auto begin = begins_.find(id_of(*living.process));
  ListedProcess process;
  process.begin_ns = begin == begins_.end() ? living.attached_ns.value_or(living.process->start_ns) : begin->second;
  process.end_ns = living.time_ns;
  process.living = true;
  HeldMemory held;
  held.add(living);
  if (const auto bytes = held.bytes()) process.memory_bytes = Figure{*bytes, Bound::kAtLeast};
  take(std::move(process), *living.process, living.account);
}

void ProcessList::take(ListedProcess process, const Process& of, const Account& account) {
  process.in = of.context->task_key ? of.context->task_key : of.context->run_key;
  process.tool = known_tool(*of.program).value_or(kNoTool);
  if (of.program->argv) process.argv = head_of(*of.program->argv);
  process.pid = of.pid;
  process.parent_pid = of.parent_pid;
  process.start_ns = of.start_ns;
  process.cpu_ns = account.cpu_ns;
  heap_.push_back(std::move(process));
  std::push_heap(heap_.begin(), heap_.end(), has_more);
  if (heap_.size() <= most_) return;
  std::pop_heap(heap_.begin(), heap_.end(), has_more);
  heap_.pop_back();
}

std::vector<ListedProcess> ProcessList::in_order() const {
  std::vector<ListedProcess> all = heap_;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return cpu_of(a) != cpu_of(b) ? cpu_of(a) > cpu_of(b) : a.begin_ns < b.begin_ns;
  });
  return all;
}

}  // namespace tracer::internal
