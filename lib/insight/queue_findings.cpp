// SPDX-License-Identifier: Apache-2.0
#include "insight/queue_findings.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

constexpr std::string_view kQueueDelay = "queue_delay";

}  // namespace

void QueueFindings::task_submitted(const TaskSubmit& submit) {
  if (submit.state != "started" || !submit.context->task_key) return;
  const std::uint64_t queued_ns = submit.time_ns - std::min(submit.time_ns, submit.submitted_ns);
  if (queued_ns < book_.rules().limit(kQueueDelay, "least_ns")) return;
  if (std::uint64_t* const known = queued_ns_.make(*submit.context, submit.context->owner_uid)) *known = queued_ns;
}

void QueueFindings::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  if (end.is_run()) return;
  const std::uint64_t* const known = queued_ns_.find(end.id);
  if (known == nullptr) return;
  const TaskFinish& finish = *end.task;
  const std::uint64_t begin_ns = std::min(finish.begin_ns, finish.end_ns);
  const std::uint64_t wall_ns = finish.end_ns - begin_ns;
  if (*known > wall_ns) {
    FindingDraft draft{.code = kQueueDelay, .subject = "task", .context = end.context};
    draft.first_ns = begin_ns - std::min(begin_ns, *known);
    draft.last_ns = finish.end_ns;
    draft.closed = true;
    draft.evidence = {figure("queued_ns", *known, "ns"), figure("wall_ns", wall_ns, "ns")};
    book_.report(draft, end.time_ns, events);
  }
  queued_ns_.erase(end.id);
}

}  // namespace tracer::internal
