// SPDX-License-Identifier: Apache-2.0
#include "insight/failure_findings.hpp"

#include <signal.h>

#include <algorithm>
#include <string.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "insight/declared.hpp"
#include "insight/process_spans.hpp"

namespace tracer::internal {
namespace {

constexpr int kMostAbove = 64;
/// Its pipe is closed a moment before a process is gone.
constexpr std::uint64_t kMostBehindNs = 100'000'000;
constexpr std::int32_t kNotFound = 127;
constexpr std::int32_t kNotExecutable = 126;

std::string tool_of(const Process& process) {
  return process.program->tool.value_or(process.program->comm.value_or("?"));
}

/// Without what it runs: "timeout", not "timeout sort".
std::string program_of(const Process& process) {
  if (process.program->exe) return std::string(base_name(*process.program->exe));
  return tool_of(process);
}

std::string signal_name(std::int32_t signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

template <class Ended>
std::string how(const Ended& ended) {
  if (!ended.exit_signal) return fmt::format("ended with status {}", ended.exit_code.value_or(0));
  return "was ended by " + signal_name(*ended.exit_signal);
}

void add_status(FindingDraft& draft, const FailureOrigin& origin) {
  if (origin.exit_signal)
    draft.evidence.push_back(figure("exit_signal", static_cast<std::uint64_t>(*origin.exit_signal)));
  if (origin.exit_code) draft.evidence.push_back(figure("exit_code", static_cast<std::uint64_t>(*origin.exit_code)));
}

/// What ends a program for its own mistakes.
bool is_crash(std::int32_t signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGSYS:
    case SIGTRAP: return true;
    default: return false;
  }
}

bool is_scheduler(std::string_view tool) {
  for (const std::string_view known :
       {"slurmstepd", "slurmd", "pbs_mom", "sge_execd", "sge_shepherd", "condor_starter", "lsf_sbatchd", "sbatchd"})
    if (tool == known) return true;
  return false;
}

std::uint64_t key_number(const std::optional<Key>& key) { return key ? static_cast<std::uint64_t>(*key) : 0; }

}  // namespace

bool FailureFindings::is_below_trying(const Process& process) const {
  if (book_.rules().tries(tool_of(process))) return true;
  auto parent = process.parent_pid;
  for (int above = 0; parent && above < kMostAbove; ++above) {
    const auto known = chains_.known_process(*parent);
    if (known == nullptr) return false;
    if (book_.rules().tries(tool_of(*known))) return true;
    parent = known->parent_pid;
  }
  return false;
}

void FailureFindings::saw(const OomKill& kill) {
  if (oom_kills_.size() < kMostOfScope) oom_kills_.insert_or_assign(kill.process->pid, kill);
}

void FailureFindings::saw(const ProcessExit& exit, std::vector<Event>& events) {
  events_ = &events;
  now_ns_ = exit.time_ns;
  ended_ns_ = exit.end_ns;
  writer_ = exit.account.written_bytes.value_or(0) > 0 ? exit.process : nullptr;
  const bool well = !exit.exit_signal && exit.exit_code.value_or(0) == 0;
  if (well && exit.account.ledger && exit.account.ledger->pipe_read_peer_pid) {
    if (readers_.size() >= kMostReaders) readers_.clear();
    readers_.insert_or_assign(*exit.account.ledger->pipe_read_peer_pid,
                              Reader{exit.begin_ns, exit.end_ns, exit.process});
  }
  chains_.ended(exit, exit.process->context->engine_own);
  oom_kills_.erase(exit.process->pid);
  events_ = nullptr;
}

void FailureFindings::decide(const FailureOrigin& origin, Verdict verdict) {
  if (verdict == Verdict::kFailed) return failed(origin);
  if (verdict != Verdict::kPassedOn && verdict != Verdict::kIgnored) return;
  const auto scope = by_scope_.find(work_key(*origin.process->context));
  if (scope == by_scope_.end()) return;
  for (Failed& each : scope->second)
    if (each.origin.process == origin.process) each.origin = origin;
}

void FailureFindings::failed(const FailureOrigin& origin) {
  Failed failed{origin};
  failed.trying = is_below_trying(*origin.process);
  failed.by_kernel = origin.oom_killed.value_or(false) ||
                     (origin.exit_signal && is_crash(*origin.exit_signal) && origin.sender != "process");
  failed.by_stranger = origin.exit_signal && origin.sender == "process" && origin.sender_pid != origin.process->pid;
  failed.end_ns = ended_ns_;
  failed.wrote = origin.process == writer_;
  report_end(failed);
  const std::uint64_t key = work_key(*origin.process->context);
  if (key == 0) return;
  remember(key, std::move(failed));
}

/// What is known at once, whatever its task makes of it.
void FailureFindings::report_end(const Failed& failed) {
  if (events_ == nullptr) return;
  const FailureOrigin& origin = failed.origin;
  const Process& process = *origin.process;
  const bool in_work = work_key(*process.context) != 0;
  FindingDraft draft;
  draft.context = process.context;
  draft.process = origin.process;
  draft.first_ns = draft.last_ns = ended_ns_;
  draft.closed = true;
  draft.evidence = {words("how", how(origin)),
                    figure("life_ns", ended_ns_ - std::min(ended_ns_, process.start_ns), "ns")};
  add_status(draft, origin);
  if (failed.trying) draft.severity = "note";
  if (origin.oom_killed.value_or(false)) {
    draft.code = "oom_kill";
    if (const auto kill = oom_kills_.find(process.pid); kill != oom_kills_.end()) {
      const auto add = [&](const char* name, const std::optional<std::uint64_t>& value) {
        if (value) draft.evidence.push_back(figure(name, *value, "bytes"));
      };
      add("limit_bytes", kill->second.limit_bytes);
      add("usage_bytes", kill->second.usage_bytes);
      add("peak_bytes", kill->second.peak_bytes);
      if (kill->second.scope) draft.evidence.push_back(words("scope", *kill->second.scope));
      if (kill->second.limit_cgroup) draft.evidence.push_back(words("limit_cgroup", *kill->second.limit_cgroup));
      if (kill->second.allocator_pid) draft.evidence.push_back(figure("allocator_pid", *kill->second.allocator_pid));
    }
    if (!in_work && draft.severity.empty()) draft.severity = "warning";
  } else if (failed.by_stranger) {
    const std::string sender = origin.sender_process ? program_of(*origin.sender_process) : std::string();
    const bool by_engine = origin.sender_process && origin.sender_process->context->engine_own;
    draft.code = sender == "timeout"    ? "killed_by_timeout"
                 : is_scheduler(sender) ? "killed_by_scheduler"
                 : by_engine            ? "killed_by_engine"
                                        : "killed_by_user";
    draft.evidence.push_back(words("sender", sender.empty() ? "another process" : sender));
    if (origin.sender_pid) draft.evidence.push_back(figure("sender_pid", *origin.sender_pid));
  } else if (failed.by_kernel) {
    draft.code = "core_dumped";
    draft.evidence.push_back(words("signal", signal_name(*origin.exit_signal)));
  } else if (origin.exit_code == kNotFound || origin.exit_code == kNotExecutable) {
    draft.code = origin.exit_code == kNotFound ? "command_not_found" : "no_permission";
    draft.confidence = "medium";
    if (!is_declared(*process.context)) draft.severity = "note";
  } else {
    return;
  }
  // Of what is nobody's work only that memory ran out matters to others.
  if (!in_work && draft.code != "oom_kill") return;
  book_.report(draft, now_ns_, *events_);
}

std::shared_ptr<const Process> FailureFindings::reader_of(const Failed& failed) const {
  const auto reader = readers_.find(failed.origin.process->pid);
  // The end of a process that shares a pipe wakes its reader, too.
  const bool fits = failed.wrote && reader != readers_.end() && reader->second.begin_ns <= failed.end_ns &&
                    reader->second.end_ns + kMostBehindNs >= failed.end_ns;
  return fits ? reader->second.process : nullptr;
}

void FailureFindings::report_silent(const Failed& failed, const std::shared_ptr<const Context>& context,
                                    std::uint64_t time_ns, std::vector<Event>& events) {
  const FailureOrigin& origin = failed.origin;
  const auto reader = reader_of(failed);
  FindingDraft draft;
  draft.code = reader ? "partial_output_used" : "silent_failure";
  draft.context = context;
  draft.process = origin.process;
  draft.first_ns = draft.last_ns = failed.end_ns;
  draft.closed = true;
  draft.confidence = origin.ignored_by || failed.by_kernel || failed.by_stranger ? "high" : "medium";
  draft.evidence = {words("how", how(origin))};
  add_status(draft, origin);
  if (origin.ignored_by) draft.evidence.push_back(words("ignored_by", tool_of(*origin.ignored_by)));
  if (reader) draft.evidence.push_back(words("reader", tool_of(*reader)));
  if (failed.trying || (!reader && !failed.by_kernel && !failed.by_stranger && !is_declared(*draft.context))) {
    draft.severity = "note";
  } else if (!reader && (failed.by_kernel || failed.by_stranger)) {
    draft.severity = "error";
  }
  book_.report(draft, time_ns, events);
}

template <class Finish>
void FailureFindings::scope_ended(const Finish& finish, const std::optional<Key>& key, bool is_run,
                                  std::vector<Event>& events) {
  const auto scope = by_scope_.find(key_number(key));
  if (scope == by_scope_.end() || !key) return;
  const std::vector<Failed> all = std::move(scope->second);
  by_scope_.erase(scope);
  std::erase(scopes_, key_number(key));
  if (finish.exit_code == 0) {
    for (const Failed& each : all) report_silent(each, finish.context, finish.time_ns, events);
    return;
  }
  if (all.empty() || (!finish.exit_code && !finish.exit_signal)) return;
  const Failed& first =
      *std::min_element(all.begin(), all.end(), [](const Failed& a, const Failed& b) { return a.end_ns < b.end_ns; });
  FindingDraft draft;
  draft.code = "first_failure";
  draft.subject = is_run ? "run" : "task";
  draft.context = finish.context;
  draft.process = first.origin.process;
  draft.first_ns = first.end_ns;
  draft.last_ns = finish.end_ns;
  draft.closed = true;
  draft.evidence = {words("how", how(first.origin))};
  std::string passed_on_by;
  for (const auto& process : first.origin.passed_on_by)
    passed_on_by += (passed_on_by.empty() ? "" : ", ") + tool_of(*process);
  if (!passed_on_by.empty()) draft.evidence.push_back(words("passed_on_by", passed_on_by));
  if (all.size() > 1) draft.evidence.push_back(figure("failures", all.size(), "count"));
  if (first.trying || (!is_run && !is_declared(*finish.context))) draft.severity = "note";
  book_.report(draft, finish.time_ns, events);
  hand_out(finish.pid, key_number(key), all);
}

/// A task that failed inside of another, or of a run: what becomes of it there?
void FailureFindings::hand_out(std::uint32_t leader_pid, std::uint64_t from_key, const std::vector<Failed>& all) {
  const auto leader = chains_.known_process(leader_pid);
  const auto parent = leader && leader->parent_pid ? chains_.known_process(*leader->parent_pid) : nullptr;
  if (parent == nullptr) return;
  const std::uint64_t key = work_key(*parent->context);
  if (key == 0 || key == from_key) return;
  for (const Failed& each : all) remember(key, each);
}

void FailureFindings::remember(std::uint64_t key, Failed failed) {
  auto [scope, fresh] = by_scope_.try_emplace(key);
  if (fresh) scopes_.push_back(key);
  if (scope->second.size() < kMostOfScope) scope->second.push_back(std::move(failed));
  if (scopes_.size() > kMostScopes) {
    by_scope_.erase(scopes_.front());
    scopes_.pop_front();
  }
}

void FailureFindings::note_attempt(const TaskFinish& finish, std::vector<Event>& events) {
  const Context& context = *finish.context;
  if (!context.run_key || !(context.task || context.task_id)) return;
  // Attempts of one task have the same name, and not always the same id.
  const std::string name = to_string(*context.run_key) + '\0' + context.step.value_or("") + '\0' +
                           context.task.value_or(context.task_id.value_or(""));
  const auto last = attempts_.find(name);
  if (finish.exit_code == 0 && !finish.exit_signal) {
    if (last != attempts_.end()) attempts_.erase(last);
    return;
  }
  Attempt attempt{finish.exit_code, finish.exit_signal};
  if (context.attempt.value_or(1) > 1 && last != attempts_.end() && last->second.exit_code == attempt.exit_code &&
      last->second.exit_signal == attempt.exit_signal && (attempt.exit_code || attempt.exit_signal)) {
    attempt.count = last->second.count + 1;
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
  if (attempts_.size() >= kMostAttempts) attempts_.clear();
  attempts_.insert_or_assign(name, attempt);
}

void FailureFindings::finished(const TaskFinish& finish, std::vector<Event>& events) {
  scope_ended(finish, finish.context->task_key, false, events);
  note_attempt(finish, events);
}

void FailureFindings::finished(const RunFinish& finish, std::vector<Event>& events) {
  scope_ended(finish, finish.context->run_key, true, events);
}

void FailureFindings::finish(std::uint64_t time_ns, std::vector<Event>& events) {
  events_ = &events;
  now_ns_ = ended_ns_ = time_ns;
  chains_.finish(time_ns);
  events_ = nullptr;
}

}  // namespace tracer::internal
