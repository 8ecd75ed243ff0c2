// SPDX-License-Identifier: Apache-2.0
#include "state/process_spans.hpp"

#include <algorithm>

#include "base/context_key.hpp"
#include "base/most_processes.hpp"
#include "base/sums.hpp"

namespace tracer::internal {
namespace {

ProcessFigures figures_of(const Account& account) {
  ProcessFigures figures;
  figures.known = account.cpu_ns && account.ledger && account.process_ledger;
  figures.cpu_ns = account.cpu_ns.value_or(0);
  figures.system_ns = account.system_ns.value_or(0);
  figures.read_bytes = account.read_bytes.value_or(0);
  figures.written_bytes = account.written_bytes.value_or(0);
  figures.read_calls = account.read_bytes ? account.read_calls.value_or(0) : 0;
  figures.write_calls = account.written_bytes ? account.write_calls.value_or(0) : 0;
  figures.network_bytes = account.network_sent_bytes.value_or(0) + account.network_received_bytes.value_or(0);
  figures.switches = account.voluntary_switches.value_or(0);
  if (account.ledger) {
    // Without what it did before it was followed.
    figures.cpu_ns = account.ledger->cpu_ns;
    figures.queued_ns = account.ledger->run_queue_ns;
    figures.lock_ns = account.ledger->lock_ns;
    figures.thread_ns = account.ledger->wall_ns;
  }
  if (account.process_ledger) figures.ledger = *account.process_ledger;
  return figures;
}

ProcessFigures difference(const ProcessFigures& now, const ProcessFigures& before) {
  ProcessFigures change = now;
  for (const auto member : {&ProcessFigures::cpu_ns, &ProcessFigures::system_ns, &ProcessFigures::read_bytes,
                            &ProcessFigures::written_bytes, &ProcessFigures::read_calls, &ProcessFigures::write_calls,
                            &ProcessFigures::network_bytes, &ProcessFigures::switches, &ProcessFigures::queued_ns,
                            &ProcessFigures::lock_ns, &ProcessFigures::thread_ns})
    change.*member -= std::min(change.*member, before.*member);
  take_off_figures(change.ledger, before.ledger);
  return change;
}

/// Of the end of a process, or of a sample.
template <class E>
std::optional<std::string> main_disk_wait_device(const E& event) {
  if (!event.disk_wait_device || !event.account.ledger ||
      event.disk_wait_device_ns.value_or(0) < event.account.ledger->disk_ns / 2)
    return std::nullopt;
  return event.disk_wait_device;
}

}  // namespace

std::uint64_t work_key(const Context& context) noexcept {
  const auto& key = innermost_key(context);
  return key ? static_cast<std::uint64_t>(*key) : 0;
}

ProcessSpan ProcessSpans::span(const std::shared_ptr<const Process>& process, std::uint64_t begin_ns,
                               std::uint64_t to_ns, const Account& account) const {
  ProcessSpan span;
  span.process = process;
  span.from_ns = begin_ns;
  span.to_ns = to_ns;
  span.total = span.change = figures_of(account);
  if (account.ledger) {
    span.pipe_read_peer_pid = account.ledger->pipe_read_peer_pid;
    span.pipe_write_peer_pid = account.ledger->pipe_write_peer_pid;
  }
  const auto seen = seen_.find(process->pid);
  if (seen == seen_.end() || seen->second.start_ns != process->start_ns) return span;
  span.from_ns = std::min(seen->second.to_ns, to_ns);
  span.threads = seen->second.threads;
  span.change = difference(span.total, seen->second.total);
  return span;
}

ProcessSpan ProcessSpans::sampled(const ProcessSample& sample) {
  const Process& process = *sample.process;
  ProcessSpan made =
      span(sample.process, sample.attached_ns.value_or(process.start_ns), sample.time_ns, sample.account);
  made.threads = sample.threads.value_or(1);
  made.disk_wait_device = main_disk_wait_device(sample);
  if (seen_.size() < kMostLivingProcesses || seen_.contains(process.pid))
    seen_.insert_or_assign(process.pid, Seen{process.start_ns, made.to_ns, made.threads, made.total});
  return made;
}

ProcessSpan ProcessSpans::ended(const ProcessExit& exit) {
  ProcessSpan made = span(exit.process, exit.attached_ns.value_or(exit.begin_ns), exit.end_ns, exit.account);
  // The last program's are exact, even where those of earlier ones can't be told from exec's own.
  if (!exit.account.read_bytes && exit.program.account.read_bytes) {
    made.total.read_bytes = *exit.program.account.read_bytes;
    made.total.read_calls = exit.program.account.read_calls.value_or(0);
  }
  made.ended = true;
  made.disk_wait_device = main_disk_wait_device(exit);
  seen_.erase(exit.process->pid);
  return made;
}

}  // namespace tracer::internal
