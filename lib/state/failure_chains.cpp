// SPDX-License-Identifier: Apache-2.0
#include "state/failure_chains.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/declared_task.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// After this a parent that has begun something else has gone on.
constexpr std::uint64_t kPatienceNs = 10'000'000'000;
/// Who ends so soon after a child, with its status, passes it on, though it ran something to clean up in between.
constexpr std::uint64_t kSoonNs = 5'000'000'000;
/// A program that can't write any more ends so soon.
constexpr std::uint64_t kBrokenPipeNs = 1'000'000'000;
constexpr std::int32_t kOfSignal = 128;    ///< A shell's status of a child that signal n ended: 128 + n.
constexpr std::int32_t kTimedOut = 124;    ///< What timeout(1) ends with when it has ended its child.
constexpr std::int32_t kCommonStatus = 1;  ///< Says nothing of where it comes from.
constexpr std::int32_t kShellSaysNo = 1;   ///< Of test, command -v and read, which are no processes.
constexpr int kMostAbove = 64;

constexpr std::array<std::string_view, 12> kShells = {"bash", "rbash", "sh",   "dash", "ash",  "zsh",
                                                      "ksh",  "ksh93", "mksh", "fish", "tcsh", "busybox"};
/// What runs a command as its child, and ends with its status.
constexpr std::array<std::string_view, 18> kWrappers = {
    "env",    "nice",   "timeout", "sudo",    "time", "setsid",    "flock", "nsenter",   "unshare",
    "strace", "ltrace", "su",      "runuser", "doas", "dumb-init", "tini",  "catatonit", "xargs"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string program_name(const Program& program) {
  if (program.exe) return std::string(base_name(*program.exe));
  return program.comm.value_or("");
}
std::string program_name(const Process& process) { return program_name(*process.program); }

/// It has executed nothing since its fork: a subshell, for example.
bool is_copy(const ProcessExit& exit) {
  return !exit.attached_ns && exit.program.start_ns && *exit.program.start_ns == exit.start_ns;
}

/// A shell whose program text is in its arguments.
bool runs_text(const Process& process) {
  if (!process.program->argv || !is_shell(process)) return false;
  bool value_follows = false;
  for (std::size_t i = 1; i < process.program->argv->size(); ++i) {
    const std::string& word = (*process.program->argv)[i];
    if (std::exchange(value_follows, false)) continue;
    if (word.size() < 2 || (word[0] != '-' && word[0] != '+') || word == "--") return false;
    if (word[1] == '-') continue;
    if (word.find('c') != std::string::npos && word[0] == '-') return true;
    value_follows = word.back() == 'o' || word.back() == 'O';
  }
  return false;
}

/// Its status is that of what it ran, which it does not judge.
bool only_wraps(const ProcessExit& exit) {
  return is_copy(exit) || runs_text(*exit.process) || is_one_of(kWrappers, program_name(*exit.process));
}

bool ended_well(const ProcessExit& exit) { return !exit.exit_signal && exit.exit_code.value_or(0) == 0; }

/// It runs many commands, whatever becomes of each, and shows by its status that some have failed.
bool runs_all(const Process& process) {
  return program_name(process) == "xargs" || process.program->tool.value_or("").starts_with("parallel");
}

/// Is its status one of its own for a child that ended like this one?
template <class Child>
bool sums_up(const ProcessExit& parent, const Child& child) {
  if (!parent.exit_code || *parent.exit_code == 0) return false;
  const std::int32_t status = *parent.exit_code;
  const std::string name = program_name(*parent.process);
  if (name == "make" || name == "gmake") return status == 2;
  if (name == "ninja") return status == 1;
  if (!runs_all(*parent.process)) return false;
  // GNU parallel: how many have failed; 101: more than 100.
  if (name != "xargs") return status <= 101;
  if (child.exit_signal) return status == 125;
  return child.exit_code == 255 ? status == 124 : status == 123;
}

/// Shows the parent's status what became of the child?
template <class Child>
bool same_end(const ProcessExit& parent, const Child& child) {
  if (sums_up(parent, child)) return true;
  if (parent.exit_signal) return parent.exit_signal == child.exit_signal;
  if (!parent.exit_code || *parent.exit_code == 0) return false;
  if (child.exit_code) return parent.exit_code == child.exit_code;
  if (!child.exit_signal) return false;
  return *parent.exit_code == kOfSignal + *child.exit_signal ||
         (*parent.exit_code == kTimedOut && child.sender_pid == parent.process->pid);
}

}  // namespace

bool is_shell(const Program& program) { return is_one_of(kShells, program_name(program)); }

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

FailureChains::Nature FailureChains::nature_of(const ProcessExit& exit) const {
  if (exit.status_is_answer) return Nature::kAnswer;
  if (exit.exit_signal) {
    // Some, such as gzip, clean up and send it to themselves again.
    const bool by_another = exit.exit_signal_sender == "process" && exit.exit_signal_sender_pid != exit.process->pid;
    if (*exit.exit_signal == SIGPIPE && !by_another) return Nature::kReaderLeft;
    return starter_sent(exit) ? Nature::kEndedByStarter : Nature::kFailure;
  }
  const bool wrote_in_vain =
      exit.broken_pipe_ns && exit.end_ns - std::min(exit.end_ns, *exit.broken_pipe_ns) <= kBrokenPipeNs;
  if (wrote_in_vain || exit.exit_code == kOfSignal + SIGPIPE) return Nature::kReaderLeft;
  if (exit.exit_code == kShellSaysNo && is_copy(exit) && is_shell(*exit.process)) return Nature::kAnswer;
  return Nature::kFailure;
}

FailureChains::Origin FailureChains::origin_of(const ProcessExit& exit, const std::shared_ptr<void>& tag) const {
  Origin origin;
  origin.nature = nature_of(exit);
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
  origin.what.reader_left = origin.nature == Nature::kReaderLeft;
  origin.what.ended_by_starter = origin.nature == Nature::kEndedByStarter;
  return origin;
}

bool FailureChains::has_failure(const std::vector<Origin>& origins) {
  return std::any_of(origins.begin(), origins.end(),
                     [](const Origin& origin) { return origin.nature == Nature::kFailure; });
}

void FailureChains::fail(Origin& origin) {
  if (origin.nature == Nature::kFailure) return;
  origin.nature = Nature::kFailure;
  decide_(origin.what, Verdict::kFailed);
}

/// Its parent did not pass it on. `reader_failed`: a process beside it has failed, which may have been its reader.
/// `is_known`: the parent has not failed by it in another way.
void FailureChains::went_on(Pending& child, bool reader_failed, bool is_known) {
  for (Origin& origin : child.origins) {
    if (origin.nature == Nature::kReaderLeft && reader_failed) fail(origin);
    switch (origin.nature) {
      case Nature::kFailure:
        if (!is_known) break;
        origin.what.ignored_by = child.parent;
        decide_(origin.what, Verdict::kIgnored);
        break;
      case Nature::kReaderLeft: decide_(origin.what, Verdict::kReaderHadEnough); break;
      case Nature::kEndedByStarter: decide_(origin.what, Verdict::kEndedByItsStarter); break;
      case Nature::kAnswer: break;
    }
  }
}

/// A parent has ended: what it passes on of what its children left; the rest is decided.
std::vector<FailureChains::Origin> FailureChains::settle(Known& parent, const ProcessExit& exit) {
  const Pending* last = nullptr;
  for (const Pending& each : parent.pending)
    if (same_end(exit, each) && (last == nullptr || each.end_ns >= last->end_ns)) last = &each;
  if (last != nullptr) {
    const bool soon = exit.end_ns - std::min(exit.end_ns, last->end_ns) <= kSoonNs;
    const bool waited = parent.last_child_ns <= last->end_ns;
    if (!soon && !runs_all(*exit.process) && (!waited || exit.exit_code == kCommonStatus)) last = nullptr;
  }
  const bool well = ended_well(exit);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> failed_spans;
  for (const Pending& each : parent.pending)
    if (has_failure(each.origins)) failed_spans.emplace_back(each.start_ns, each.end_ns);
  std::vector<Origin> passed;
  for (Pending& each : parent.pending) {
    // Those that ran beside the last one: of a pipe, or workers.
    const bool counts = runs_all(*exit.process) || each.end_ns >= (last != nullptr ? last->start_ns : 0);
    if (last != nullptr && same_end(exit, each) && counts) {
      for (Origin& origin : each.origins)
        if (passed.size() < kMostOrigins) passed.push_back(std::move(origin));
      continue;
    }
    const bool failed_by_it =
        !well && exit.end_ns - std::min(exit.end_ns, each.end_ns) <= kSoonNs && parent.last_child_ns <= each.end_ns;
    const bool reader_failed = std::any_of(failed_spans.begin(), failed_spans.end(), [&each](const auto& span) {
      return span.first <= each.end_ns && span.second >= each.start_ns;
    });
    went_on(each, reader_failed, last != nullptr || !failed_by_it);
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
    const bool ended_it = origin.nature == Nature::kEndedByStarter && origin.what.sender_pid == exit.process->pid;
    // One failure beside it is reason enough.
    if (ended_it || (!wraps && !ended_too && !fails)) fail(origin);
    if (origin.nature == Nature::kFailure) decide_(origin.what, Verdict::kPassing);
  }
}

/// Nobody above it is known.
void FailureChains::end_at_top(Pending& pending, const ProcessExit& exit) {
  const bool parent_ended = exit.process->parent_pid && ended_process(*exit.process->parent_pid) != nullptr;
  for (Origin& origin : pending.origins) {
    // It has ended nothing that is known.
    const bool alone = parent_ended || origin.what.passed_on_by.empty();
    if (alone && origin.nature == Nature::kReaderLeft) {
      decide_(origin.what, Verdict::kReaderHadEnough);
    } else if (parent_ended && origin.nature == Nature::kEndedByStarter) {
      decide_(origin.what, Verdict::kEndedByItsStarter);
    } else if (!origin.what.status_is_answer && !(parent_ended && origin.nature == Nature::kAnswer)) {
      fail(origin);
    }
    if (origin.nature == Nature::kFailure && !origin.what.passed_on_by.empty())
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
  if (ended_well(exit)) return;
  Pending pending{exit.start_ns, exit.end_ns, exit.exit_code, exit.exit_signal, exit.exit_signal_sender_pid, {}, {}};
  if (!origins.empty()) {
    pass_on(origins, exit, leads || (engine_own && !only_wraps(exit)));
    pending.origins = std::move(origins);
  } else if (engine_own) {
    return;
  } else {
    pending.origins.push_back(origin_of(exit, tag));
    Origin& own = pending.origins.back();
    if (own.nature == Nature::kFailure) {
      decide_(own.what, Verdict::kFailed);
    } else if (leads && !exit.status_is_answer) {
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
