// SPDX-License-Identifier: Apache-2.0
#include "state/failure_chains.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/declared_task.hpp"

namespace tracer::internal {
namespace {

/// After this a parent that has begun something else has gone on.
constexpr std::uint64_t kPatienceNs = 10'000'000'000;
/// Who ends so soon after a child, with its status, passes it on, though it ran something to clean up in between.
constexpr std::uint64_t kSoonNs = 5'000'000'000;
constexpr std::uint64_t kAtOnceNs = 1'000'000'000;  ///< The same of one that works itself, other than a shell.
constexpr int kMostAbove = 64;

/// What these end by a signal is a service that nobody needs any more: they have no other use of signals but Ctrl-C.
constexpr std::array<std::string_view, 1> kEndServices = {"snakemake"};

}  // namespace

FailureChains::Known* FailureChains::living(std::uint32_t pid, std::uint64_t start_ns) {
  const auto found = living_.find(pid);
  return found != living_.end() && found->second.start_ns == start_ns ? &found->second : nullptr;
}

FailureChains::Known* FailureChains::living_parent(const Process& process) {
  return process.parent_pid ? living(*process.parent_pid, process.parent_start_ns.value_or(0)) : nullptr;
}

std::shared_ptr<const Process> FailureChains::ended_process(std::uint32_t pid) const {
  const auto& place = ended_[pid % kEndedPlaces];
  return place && place->pid == pid ? place : nullptr;
}

std::shared_ptr<const Process> FailureChains::known_process(std::uint32_t pid) const {
  const auto found = living_.find(pid);
  return found != living_.end() ? found->second.process : ended_process(pid);
}

void FailureChains::saw(const std::shared_ptr<const Process>& process) {
  if (Known* known = living(process->pid, process->start_ns)) {
    const bool is_new = known->process == nullptr;
    known->process = process;
    if (!is_new) return;
  } else {
    if (const auto old = living_.find(process->pid); old != living_.end()) forget(process->pid, old->second.start_ns);
    if (living_.size() >= kMostLiving) return;
    living_[process->pid] = {process->start_ns, process};
  }
  Known* parent = living_parent(*process);
  if (parent != nullptr && !parent->pending.empty()) parent->last_child_ns = process->start_ns;
}

void FailureChains::leads(std::uint32_t pid, std::uint64_t start_ns, const Context& context) {
  const Leads leads = context.task_key && !is_declared_task(context) ? Leads::kInferredTask : Leads::kWork;
  if (Known* known = living(pid, start_ns)) {
    known->leads = std::max(known->leads, leads);
  } else if (living_.size() < kMostLiving && !ended_process(pid)) {
    living_[pid] = {start_ns, nullptr, leads};
  }
}

/// An ancestor has sent the signal, or what an ancestor of the same run has started, such as kill(1), or another
/// process of the same run.
bool FailureChains::starter_sent(const ProcessExit& exit) const {
  if (exit.exit_signal_sender != "process" || !exit.exit_signal_sender_pid) return false;
  const Process& process = *exit.process;
  const std::uint32_t sender = *exit.exit_signal_sender_pid;
  if (sender == process.pid) return false;
  if (process.parent_pid == sender) return true;
  const auto sent_by = known_process(sender);
  const std::uint32_t started_by = sent_by ? sent_by->parent_pid.value_or(0) : 0;
  const auto& run = process.context->run_key;
  std::shared_ptr<const Process> at = process.parent_pid ? known_process(*process.parent_pid) : nullptr;
  for (int above = 0; at != nullptr && above < kMostAbove; ++above) {
    if (at->pid == sender) return true;
    // Who types kill(1) where the run was begun is no part of it.
    if (started_by == at->pid && (above == 0 || at->context->run_key == run)) return true;
    at = at->parent_pid ? known_process(*at->parent_pid) : nullptr;
  }
  if (sent_by == nullptr) return false;
  if (process.parent_pid && started_by == process.parent_pid) return true;
  return run && sent_by->context->run_key == run && !sent_by->context->engine_own;
}

bool FailureChains::service_engine_sent(const ProcessExit& exit) const {
  const auto sent_by = exit.exit_signal_sender_pid ? known_process(*exit.exit_signal_sender_pid) : nullptr;
  if (sent_by == nullptr || !sent_by->context->engine_own || *exit.exit_signal == SIGINT) return false;
  const auto& engine = sent_by->context->engine;
  return engine && std::find(kEndServices.begin(), kEndServices.end(), *engine) != kEndServices.end();
}

FailureChains::Origin FailureChains::origin_of(const ProcessExit& exit, const std::shared_ptr<void>& tag) const {
  Origin origin;
  origin.nature =
      nature_of(exit, exit.exit_signal && starter_sent(exit), exit.exit_signal && service_engine_sent(exit));
  origin.killed_at_work =
      origin.nature == EndNature::kEndedByStarter && exit.exit_signal == SIGKILL && was_at_work(exit);
  origin.by_own_parent = origin.nature == EndNature::kEndedByStarter && is_worker(exit) &&
                         exit.exit_signal_sender_pid == exit.process->parent_pid &&
                         known_process(*exit.process->parent_pid) == nullptr;
  origin.what = {exit.process,
                 tag,
                 exit.exit_code,
                 exit.exit_signal,
                 exit.core_dumped,
                 exit.status_is_answer,
                 exit.exit_signal_sender,
                 exit.exit_signal_sender_pid,
                 exit.oom_killed};
  if (const auto pid = exit.exit_signal_sender_pid) {
    origin.what.sender_process = *pid == exit.process->pid ? exit.process : known_process(*pid);
  }
  origin.what.reader_left = origin.nature == EndNature::kReaderLeft;
  origin.what.ended_by_starter =
      origin.nature == EndNature::kEndedByStarter || origin.nature == EndNature::kServiceOver;
  return origin;
}

bool FailureChains::has_failure(const std::vector<Origin>& origins) {
  return std::any_of(origins.begin(), origins.end(),
                     [](const Origin& origin) { return origin.nature == EndNature::kFailure; });
}

void FailureChains::fail(Origin& origin) {
  if (origin.nature == EndNature::kFailure) return;
  origin.nature = EndNature::kFailure;
  decide_(origin.what, Verdict::kFailed);
}

/// Its parent did not pass it on. `sibling_failed`: a process beside it has failed, which may have been its reader, or
/// why it was ended. `is_known`: the parent has not failed by it in another way.
void FailureChains::went_on(Pending& child, bool sibling_failed, bool is_known) {
  for (Origin& origin : child.origins) {
    const bool lost_reader = origin.nature == EndNature::kReaderLeft && sibling_failed;
    if (lost_reader || (origin.killed_at_work && !sibling_failed)) fail(origin);
    switch (origin.nature) {
      case EndNature::kFailure:
        if (!is_known) break;
        origin.what.ignored_by = child.parent;
        decide_(origin.what, Verdict::kIgnored);
        break;
      case EndNature::kReaderLeft: decide_(origin.what, Verdict::kReaderHadEnough); break;
      case EndNature::kServiceOver:
      case EndNature::kEndedByStarter: decide_(origin.what, Verdict::kEndedByItsStarter); break;
      case EndNature::kAnswer: break;
    }
  }
}

/// The child by which a parent has ended as it did. Null: it has ended well, or for a reason of its own.
const FailureChains::Pending* FailureChains::cause_of(const Known& parent, const ProcessExit& exit) {
  const auto ago_ns = [&](const Pending& each) { return exit.end_ns - std::min(exit.end_ns, each.end_ns); };
  const auto last = [&](const auto& fits) {
    const Pending* found = nullptr;
    for (const Pending& each : parent.pending)
      if (fits(each) && (found == nullptr || each.end_ns >= found->end_ns)) found = &each;
    return found;
  };
  // By its status.
  const auto passes_on = [&](const Pending& each) {
    const bool waited = parent.last_child_ns <= each.end_ns;
    return same_end(exit, each.end) &&
           (ago_ns(each) <= kSoonNs || runs_all(*exit.process) || (waited && !is_common(exit)));
  };
  if (const Pending* found = last([&](const Pending& each) { return !each.ends_others && passes_on(each); }))
    return found;
  // A handler reports it by another one: since then nothing was done but to clean up.
  const std::uint64_t soon_ns = is_shell(*exit.process) ? kSoonNs : kAtOnceNs;
  const auto handles = [&](const Pending& each) {
    return !each.ends_others && has_failure(each.origins) && ago_ns(each) <= soon_ns &&
           parent.last_work_ns <= each.end_ns;
  };
  if (!exit.exit_signal && !ended_well(exit)) {
    const auto worked = [&](const Pending& each) { return !each.cleans_up && handles(each); };
    if (const Pending* found = last(worked)) return found;
    if (const Pending* found = last(handles)) return found;
  }
  return last(passes_on);
}

/// A parent has ended: what it passes on of what its children left; the rest is decided.
std::vector<FailureChains::Origin> FailureChains::settle(Known& parent, const ProcessExit& exit) {
  const Pending* const last = cause_of(parent, exit);
  const bool well = ended_well(exit);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> failed_spans;
  for (const Pending& each : parent.pending)
    if (has_failure(each.origins)) failed_spans.emplace_back(each.start_ns, each.end_ns);
  std::vector<Origin> passed;
  for (Pending& each : parent.pending) {
    // Those that ran beside the last one: of a pipe, or workers.
    const bool counts = runs_all(*exit.process) || each.end_ns >= (last != nullptr ? last->start_ns : 0);
    if (last != nullptr && counts && (&each == last || (!each.ends_others && same_end(exit, each.end)))) {
      for (Origin& origin : each.origins) {
        if (passed.size() >= kMostOrigins) break;
        passed.push_back(std::move(origin));
        passed.back().what.is_likely |= !same_end(exit, each.end);
      }
      continue;
    }
    const bool failed_by_it =
        !well && exit.end_ns - std::min(exit.end_ns, each.end_ns) <= kSoonNs && parent.last_child_ns <= each.end_ns;
    const bool sibling_failed = std::any_of(failed_spans.begin(), failed_spans.end(), [&each](const auto& span) {
      return span.first <= each.end_ns && span.second >= each.start_ns;
    });
    went_on(each, sibling_failed, last != nullptr || !failed_by_it);
  }
  parent.pending.clear();
  return passed;
}

/// A process ends with what its children left.
void FailureChains::pass_on(std::vector<Origin>& origins, const ProcessExit& exit, bool leads) {
  const bool wraps = only_wraps(exit) && !leads;
  const bool ended_too = !leads && exit.exit_signal && starter_sent(exit);
  const bool fails = has_failure(origins);
  for (Origin& origin : origins) {
    if (origin.what.passed_on_by.size() < kMostPassing) origin.what.passed_on_by.push_back(exit.process);
    // Who ends a child and then fails for that has set it a limit.
    const bool ended_it = origin.nature == EndNature::kEndedByStarter && origin.what.sender_pid == exit.process->pid;
    // One failure beside it is reason enough.
    const bool is_over = origin.nature == EndNature::kServiceOver;
    if (ended_it || (!wraps && !ended_too && !fails && !is_over)) fail(origin);
    if (origin.nature == EndNature::kFailure) decide_(origin.what, Verdict::kPassing);
  }
}

/// Nobody above it is known.
void FailureChains::end_at_top(Pending& pending, const ProcessExit& exit) {
  const bool parent_ended = exit.process->parent_pid && ended_process(*exit.process->parent_pid) != nullptr;
  for (Origin& origin : pending.origins) {
    // It has ended nothing that is known.
    const bool alone = parent_ended || origin.what.passed_on_by.empty();
    if (alone && origin.nature == EndNature::kReaderLeft) {
      decide_(origin.what, Verdict::kReaderHadEnough);
    } else if (((parent_ended || origin.by_own_parent) && origin.nature == EndNature::kEndedByStarter) ||
               origin.nature == EndNature::kServiceOver) {
      decide_(origin.what, Verdict::kEndedByItsStarter);
    } else if (!origin.what.status_is_answer && !(parent_ended && origin.nature == EndNature::kAnswer)) {
      fail(origin);
    }
    if (origin.nature == EndNature::kFailure && !origin.what.passed_on_by.empty())
      decide_(origin.what, Verdict::kPassedOn);
  }
}

void FailureChains::hand_up(Pending pending, const ProcessExit& exit) {
  Known* parent = living_parent(*exit.process);
  if (parent == nullptr) return end_at_top(pending, exit);
  // It has gone on for long.
  if (parent->pending.size() >= kMostPending) {
    went_on(parent->pending.front(), false, true);
    parent->pending.erase(parent->pending.begin());
  }
  pending.parent = parent->process;
  parent->pending.push_back(std::move(pending));
  wait_for({*exit.process->parent_pid, parent->start_ns, exit.end_ns});
}

FailureChains::Known* FailureChains::parent_of(const Waiting& waiting) {
  Known* parent = living(waiting.parent_pid, waiting.parent_start_ns);
  const bool waits = parent != nullptr && !parent->pending.empty() && parent->pending.front().end_ns <= waiting.end_ns;
  return waits ? parent : nullptr;
}

void FailureChains::wait_for(const Waiting& waiting) {
  waiting_.push_back(waiting);
  if (waiting_.size() < tidy_at_) return;
  std::erase_if(waiting_, [this](const Waiting& each) { return parent_of(each) == nullptr; });
  // A part at once: each step here looks at all.
  if (waiting_.size() > kMostWaiting)
    while (waiting_.size() > kMostWaiting / 4 * 3) expire();
  waiting_.shrink_to_fit();
  tidy_at_ = std::min(kMostWaiting + 1, std::max(kLeastWaiting, 2 * waiting_.size()));
}

/// Decides the oldest that waits.
void FailureChains::expire() {
  const Waiting oldest = waiting_.front();
  waiting_.pop_front();
  Known* parent = parent_of(oldest);
  if (parent == nullptr) return;
  went_on(parent->pending.front(), false, true);
  parent->pending.erase(parent->pending.begin());
}

void FailureChains::ended(const ProcessExit& exit, bool engine_own, const std::shared_ptr<void>& tag) {
  Known self;
  const auto found = living_.find(exit.process->pid);
  if (found != living_.end() && found->second.start_ns == exit.process->start_ns) {
    self = std::move(found->second);
    living_.erase(found);
  }
  std::vector<Origin> origins = settle(self, exit);
  const bool leads =
      self.leads == Leads::kWork || (self.leads == Leads::kInferredTask && living_parent(*exit.process) == nullptr);
  ended_[exit.process->pid % kEndedPlaces] = exit.process;
  if (Known* const parent = living_parent(*exit.process); parent != nullptr && !parent->pending.empty())
    if (!cleans_up(*exit.process) && !is_copy(exit))
      parent->last_work_ns = std::max(parent->last_work_ns, exit.start_ns);
  if (ended_well(exit)) return;
  Pending pending{exit.start_ns,
                  exit.end_ns,
                  {exit.exit_code, exit.exit_signal, exit.exit_signal_sender_pid},
                  cleans_up(*exit.process),
                  ends_others(*exit.process)};
  if (!origins.empty()) {
    pass_on(origins, exit, leads || (engine_own && !only_wraps(exit)));
    pending.origins = std::move(origins);
  } else if (engine_own) {
    return;
  } else {
    pending.origins.push_back(origin_of(exit, tag));
    Origin& own = pending.origins.back();
    if (own.nature == EndNature::kFailure) {
      decide_(own.what, Verdict::kFailed);
    } else if (leads && !exit.status_is_answer && own.nature != EndNature::kServiceOver && !own.by_own_parent) {
      fail(own);
    }
  }
  hand_up(std::move(pending), exit);
}

void FailureChains::forget(std::uint32_t pid, std::uint64_t start_ns) {
  Known* known = living(pid, start_ns);
  if (known == nullptr) return;
  for (Pending& each : known->pending) went_on(each, false, false);
  living_.erase(pid);
}

void FailureChains::finish(std::uint64_t time_ns) {
  for (auto& [pid, known] : living_) {
    for (Pending& each : known.pending) {
      const bool long_ago = time_ns - std::min(time_ns, each.end_ns) > kPatienceNs;
      went_on(each, false, long_ago || known.last_child_ns > each.end_ns);
    }
    known.pending.clear();
  }
  waiting_.clear();
}

}  // namespace tracer::internal
