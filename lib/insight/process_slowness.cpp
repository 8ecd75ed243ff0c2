// SPDX-License-Identifier: Apache-2.0
#include "insight/process_slowness.hpp"

#include <algorithm>

#include "base/most_processes.hpp"
#include "insight/shares.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

FindingDraft draft_of(std::string_view code, const ProcessSpan& span) {
  FindingDraft draft;
  draft.code = code;
  draft.context = span.process->context;
  draft.process = span.process;
  draft.first_ns = span.to_ns - std::min(span.total.ledger.life_ns, span.to_ns);
  draft.last_ns = span.to_ns;
  return draft;
}

}  // namespace

ProcessSlowness::ProcessSlowness(FindingBook& book) : book_(book) {
  const auto limit = [&](const char* code, const char* name) { return book.rules().limit(code, name); };
  locks_ = {limit("lock_convoy", "least_life_ns"),         limit("lock_convoy", "least_threads"),
            limit("lock_convoy", "least_percent"),         limit("lock_convoy", "least_running_percent"),
            limit("lock_convoy", "most_parallel_percent"), limit("lock_convoy", "least_switches_per_s")};
  pieces_ = {limit("tiny_io", "least_calls"), limit("tiny_io", "most_bytes_per_call"), limit("tiny_io", "least_cpu_ns"),
             limit("tiny_io", "least_percent")};
  rates_limits_ = {limit("network_dropped", "window_ns"), limit("network_dropped", "least_best_bytes_per_s"),
                   limit("network_dropped", "most_percent"), limit("network_dropped", "least_wait_percent")};
}

void ProcessSlowness::process_lived(const ProcessSpan& span, std::vector<Event>& events) {
  if (work_key(*span.process->context) == 0 || span.process->context->engine_own) return;
  look_at_locks(span, events);
  look_at_pieces(span, events);
  look_at_network(span, events);
}

void ProcessSlowness::decide(FindingDraft& draft, const ProcessSpan& span, bool holds, std::vector<Event>& events) {
  draft.closed = span.ended || !holds;
  if (holds || book_.is_open(draft)) book_.report(draft, span.to_ns, events);
}

/// Threads that only wait for work wait long and seldom; those that wait for each other do so again and again.
void ProcessSlowness::look_at_locks(const ProcessSpan& span, std::vector<Event>& events) {
  const ProcessFigures& total = span.total;
  const std::uint64_t life_ns = total.ledger.life_ns;
  if (!total.known || life_ns < locks_.least_life_ns) return;
  const std::uint64_t threads = (total.thread_ns + life_ns / 2) / life_ns;
  if (threads < 2) return;
  const std::uint64_t share = percent(total.lock_ns, total.thread_ns);
  const std::uint64_t parallel = percent(total.cpu_ns, total.ledger.running_ns);
  const bool holds =
      threads >= locks_.least_threads && share >= locks_.least_percent && parallel <= locks_.most_parallel_percent &&
      percent(total.ledger.running_ns, life_ns) >= locks_.least_running_percent &&
      total.switches / std::max<std::uint64_t>(life_ns / kSecond_ns, 1) >= locks_.least_switches_per_s * threads;
  FindingDraft draft = draft_of("lock_convoy", span);
  if (!holds && !book_.is_open(draft)) return;
  draft.confidence = "medium";
  draft.evidence = {figure("lock_ns", total.lock_ns, "ns"),
                    figure("threads_ns", total.thread_ns, "ns"),
                    figure("percent", share, "percent"),
                    figure("threads", threads, "count"),
                    figure("parallel_percent", parallel, "percent"),
                    figure("life_ns", life_ns, "ns"),
                    figure("switches", total.switches, "count")};
  decide(draft, span, holds, events);
}

void ProcessSlowness::look_at_pieces(const ProcessSpan& span, std::vector<Event>& events) {
  const ProcessFigures& total = span.total;
  const bool reads = total.read_calls >= total.write_calls;
  const std::uint64_t calls = reads ? total.read_calls : total.write_calls;
  if (calls < pieces_.least_calls || calls == 0) return;
  if (book_.rules().is_normal("tiny_io", span.process->program->tool.value_or(""))) return;
  const std::uint64_t bytes = reads ? total.read_bytes : total.written_bytes;
  const std::uint64_t share = percent(total.system_ns, total.cpu_ns);
  const bool holds = bytes / calls <= pieces_.most_bytes_per_call && total.cpu_ns >= pieces_.least_cpu_ns &&
                     share >= pieces_.least_percent;
  FindingDraft draft = draft_of("tiny_io", span);
  if (!holds && !book_.is_open(draft)) return;
  draft.confidence = "medium";
  draft.evidence = {figure("calls", calls, "count"),
                    figure("bytes_per_call", bytes / calls, "bytes"),
                    words("direction", reads ? "read" : "wrote"),
                    figure("system_ns", total.system_ns, "ns"),
                    figure("cpu_ns", total.cpu_ns, "ns"),
                    figure("percent", share, "percent")};
  decide(draft, span, holds, events);
}

/// Nothing at all may be a peer that has nothing to say.
void ProcessSlowness::look_at_network(const ProcessSpan& span, std::vector<Event>& events) {
  if (span.total.network_bytes == 0) return;
  const std::uint32_t pid = span.process->pid;
  if (rates_.size() >= kMostLivingProcesses && !rates_.contains(pid)) return;
  Rate& rate = rates_[pid];
  if (rate.start_ns != span.process->start_ns) rate = {span.process->start_ns, span.from_ns};
  rate.bytes += span.change.network_bytes;
  rate.wait_ns += span.change.ledger.network_ns + span.change.ledger.poll_ns;
  const std::uint64_t length_ns = span.to_ns - std::min(rate.from_ns, span.to_ns);
  if (length_ns >= rates_limits_.window_ns && length_ns > 0) {
    const auto bytes_per_s =
        static_cast<std::uint64_t>(static_cast<double>(rate.bytes) * kSecond_ns / static_cast<double>(length_ns));
    const bool holds = rate.bytes > 0 && rate.best_bytes_per_s >= rates_limits_.least_best_bytes_per_s &&
                       bytes_per_s * 100 < rate.best_bytes_per_s * rates_limits_.most_percent &&
                       percent(rate.wait_ns, length_ns) >= rates_limits_.least_wait_percent;
    FindingDraft draft = draft_of("network_dropped", span);
    draft.confidence = "low";
    draft.first_ns = rate.from_ns;
    draft.evidence = {figure("bytes_per_s", bytes_per_s, "bytes/s"),
                      figure("best_bytes_per_s", rate.best_bytes_per_s, "bytes/s"),
                      figure("percent", percent(bytes_per_s, rate.best_bytes_per_s), "percent"),
                      figure("window_ns", length_ns, "ns")};
    decide(draft, span, holds, events);
    rate = {rate.start_ns, span.to_ns, 0, 0, std::max(rate.best_bytes_per_s, bytes_per_s)};
  }
  if (span.ended) {
    FindingDraft draft = draft_of("network_dropped", span);
    book_.close(draft.code, draft.subject, *draft.context, draft.process.get(), span.to_ns, events);
    rates_.erase(pid);
  }
}

}  // namespace tracer::internal
