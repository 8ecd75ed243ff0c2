// SPDX-License-Identifier: Apache-2.0
#include "insight/idle_findings.hpp"

#include <algorithm>
#include <string_view>

#include "base/certain_waits.hpp"
#include "insight/shares.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kIdle = "idle_child";
constexpr std::uint64_t kSecondOfIdle_ns = 1'000'000'000;
constexpr std::uint64_t kMinute_ns = 60 * kSecondOfIdle_ns;
/// To load a program takes some waits, whatever it does then.
constexpr std::uint64_t kWaitsToLoad = 20;

}  // namespace

IdleFindings::IdleFindings(FindingBook& book)
    : book_(book),
      least_wall_ns_(book.rules().limit(kIdle, "least_wall_ns")),
      least_wait_ns_(book.rules().limit(kIdle, "least_wait_ns")),
      least_percent_(book.rules().limit(kIdle, "least_percent")),
      most_cpu_percent_(book.rules().limit(kIdle, "most_cpu_percent")),
      most_bytes_per_s_(book.rules().limit(kIdle, "most_bytes_per_s")),
      most_waits_per_minute_(book.rules().limit(kIdle, "most_waits_per_minute")),
      works_(book) {}

void IdleFindings::began(const Context& context, bool is_run, std::uint32_t pid, std::uint64_t start_ns) {
  Work* const work = works_.make(book_.scopes().id_of(context, is_run), context.owner_uid);
  if (work == nullptr) return;
  work->leader_pid = pid;
  work->leader_start_ns = start_ns;
}

/// One that waits again and again looks for something in between: it polls.
bool IdleFindings::is_idle(const ProcessSpan& span) const {
  const ProcessFigures& total = span.total;
  const std::uint64_t life_ns = total.ledger.life_ns;
  if (!total.known || life_ns < least_wait_ns_) return false;
  const std::uint64_t bytes = total.read_bytes + total.written_bytes + total.network_bytes;
  return percent(total.cpu_ns, life_ns) < most_cpu_percent_ &&
         bytes <= life_ns / kSecondOfIdle_ns * most_bytes_per_s_ &&
         total.switches <= kWaitsToLoad + life_ns / kMinute_ns * most_waits_per_minute_;
}

void IdleFindings::process_lived(const ProcessSpan& span, std::vector<Event>&) {
  const Process& process = *span.process;
  Work* const known = works_.find(process);
  if (known == nullptr || process.context->engine_own) return;
  Work& work = *known;
  if (process.pid == work.leader_pid && process.start_ns == work.leader_start_ns) {
    work.leader = span.process;
    return;
  }
  const Idle idle{span.process, span.total.ledger.sleep_ns, span.total.ledger.lock_ns};
  const bool is_same =
      work.idle.process && work.idle.process->pid == process.pid && work.idle.process->start_ns == process.start_ns;
  if (is_same && !is_idle(span)) {
    work.idle = {};
  } else if ((is_same || idle.wait_ns() > work.idle.wait_ns()) && is_idle(span)) {
    work.idle = idle;
  }
}

bool IdleFindings::is_normal(const Process* process) const {
  return process != nullptr && book_.rules().is_normal(kIdle, process->program->tool.value_or(""));
}

void IdleFindings::look(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  if ((figures.is_run && figures.by_tasks) || !figures.whole || figures.now_ns <= figures.begin_ns) return;
  const Work* const known = works_.find(figures.id);
  if (known == nullptr) return;
  const Idle& idle = known->idle;
  const bool may_be = idle.process && !is_normal(idle.process.get()) && !is_normal(known->leader.get());
  const std::uint64_t wall_ns = figures.now_ns - figures.begin_ns;
  const std::uint64_t of_task_ns = certain_ns(figures.ledger, figures.ledger.sleep_ns + figures.ledger.lock_ns);
  const std::uint64_t wait_ns = may_be ? std::min(of_task_ns, idle.wait_ns()) : 0;
  FindingDraft draft = draft_of(kIdle, figures, idle.process);
  const bool holds =
      wall_ns >= least_wall_ns_ && wait_ns >= least_wait_ns_ && percent(wait_ns, wall_ns) >= least_percent_;
  if (!holds) {
    book_.close(kIdle, draft.subject, *draft.context, nullptr, time_ns, events);
    return;
  }
  draft.evidence = {figure("wait_ns", wait_ns, "ns"), figure("wall_ns", wall_ns, "ns"),
                    figure("percent", percent(wait_ns, wall_ns), "percent"),
                    words("did", idle.sleep_ns >= idle.lock_ns ? "slept" : "waited for a lock")};
  book_.report(draft, time_ns, events);
}

void IdleFindings::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  if (end.figures) look(*end.figures, end.time_ns, events);
  works_.erase(end.id);
}

}  // namespace tracer::internal
