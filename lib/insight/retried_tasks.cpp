// SPDX-License-Identifier: Apache-2.0
#include "insight/retried_tasks.hpp"

#include <signal.h>

#include <fmt/format.h>

#include "base/end_words.hpp"
#include "base/quantities.hpp"
#include "context/attempts.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint64_t kMostSizes = 8;

/// A limit of memory or time ends a task in these ways.
bool may_be_a_limit(const std::optional<std::int32_t>& exit_code, const std::optional<std::int32_t>& exit_signal) {
  const std::int32_t signal = exit_signal.value_or(exit_code.value_or(0) - kOfSignal);
  return signal == SIGKILL || signal == SIGTERM || signal == SIGXCPU || signal == SIGUSR1 || signal == SIGUSR2;
}

bool grew(const std::optional<std::uint64_t>& next, const std::optional<std::uint64_t>& last) {
  return next && last && *next > *last;
}

}  // namespace

/// The next one had more than the last, or may have had.
bool RetriedTasks::may_do_better(const Attempt& next, const Attempt& last) {
  if (next.ran_out_of_memory || last.ran_out_of_memory) return true;
  const Requested& now = next.requested;
  const Requested& before = last.requested;
  if (grew(now.memory_bytes, before.memory_bytes) || grew(now.time_ns, before.time_ns) ||
      grew(now.millicpus, before.millicpus))
    return true;
  const bool is_known = now.memory_bytes && before.memory_bytes && now.time_ns && before.time_ns;
  return !is_known && may_be_a_limit(next.exit_code, next.exit_signal);
}

/// They are no more than notes then.
void RetriedTasks::succeeded(const Attempt& failed, const TaskFinish& finish, std::vector<Event>& events) {
  if (failed.said == nullptr) return;
  for (FindingDraft draft : *failed.said) {
    draft.severity = "note";
    draft.evidence.push_back(words("succeeded_in", fmt::format("attempt {}", finish.context->attempt.value_or(1))));
    book_.report(draft, finish.time_ns, events);
  }
}

void RetriedTasks::finished(const TaskFinish& finish, bool ran_out_of_memory, const Said& said,
                            std::vector<Event>& events) {
  const Context& context = *finish.context;
  if (!context.run_key || !(context.task || context.task_id)) return;
  const std::uint64_t name = attempts_hash(context);
  const ScopeId run = book_.scopes().id_of(context, true);
  if (run == ScopeId::kNone) return;
  Attempts* attempts = attempts_.find(run);
  const auto known = attempts == nullptr ? Attempts::iterator() : attempts->find(name);
  const Attempt* const last = attempts == nullptr || known == attempts->end() ? nullptr : &known->second;
  if (finish.exit_code == 0 && !finish.exit_signal) {
    if (last == nullptr) return;
    if (context.attempt.value_or(1) > 1) succeeded(*last, finish, events);
    attempts->erase(known);
    return;
  }
  Attempt attempt{finish.exit_code, finish.exit_signal, finish.requested, ran_out_of_memory, said};
  const bool is_alike = context.attempt.value_or(1) > 1 && last != nullptr && last->exit_code == attempt.exit_code &&
                        last->exit_signal == attempt.exit_signal && (attempt.exit_code || attempt.exit_signal);
  if (is_alike && !may_do_better(attempt, *last)) {
    attempt.count = last->count + 1;
    FindingDraft draft;
    draft.code = "retried_alike";
    draft.subject = "task";
    draft.context = finish.context;
    draft.first_ns = finish.begin_ns;
    draft.last_ns = finish.end_ns;
    draft.count = attempt.count;
    draft.closed = true;
    draft.evidence = {words("how", how(finish))};
    book_.report(draft, finish.time_ns, events);
  }
  if (ran_out_of_memory) {
    const bool again = context.attempt.value_or(1) > 1 && last != nullptr;
    attempt.starved = (again ? last->starved : 0) + 1;
    const bool is_first = attempt.starved == 1;
    if (!is_first) attempt.sizes = last->sizes;
    // Of all of them, or of none.
    if (const auto& bytes = finish.requested.memory_bytes; !bytes) {
      attempt.sizes.clear();
    } else if (is_first || (!attempt.sizes.empty() && attempt.starved <= kMostSizes)) {
      attempt.sizes += (is_first ? "" : ", then ") + format_bytes(*bytes);
    }
    if (attempt.starved > 1) report_starved(attempt, finish, events);
  }
  // With what was said of it.
  constexpr std::size_t kBytes = sizeof(Attempts::value_type) + 2048;
  if (attempts == nullptr) attempts = attempts_.put(run, context.owner_uid, 0, {});
  if (attempts == nullptr) return;
  if (last == nullptr && !attempts_.charge(run, (attempts->size() + 1) * kBytes)) return;
  attempts->insert_or_assign(name, attempt);
}

void RetriedTasks::report_starved(const Attempt& attempt, const TaskFinish& finish, std::vector<Event>& events) {
  FindingDraft draft{.code = "retried_starved", .subject = "task", .context = finish.context};
  draft.first_ns = finish.begin_ns;
  draft.last_ns = finish.end_ns;
  draft.count = attempt.starved;
  draft.closed = true;
  if (!attempt.sizes.empty()) draft.evidence.push_back(words("sizes", attempt.sizes));
  if (finish.totals.peak_bytes) draft.evidence.push_back(figure("peak_bytes", *finish.totals.peak_bytes, "bytes"));
  book_.report(draft, finish.time_ns, events);
}

void RetriedTasks::gone(ScopeId run, ScopeId into) {
  if (into == ScopeId::kNone) return attempts_.erase(run);
  auto both = attempts_.rename(run, into);
  if (both) attempts_.find(into)->merge(*both);
}

}  // namespace tracer::internal
