// SPDX-License-Identifier: Apache-2.0
#include "insight/failure_findings.hpp"

#include <signal.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/declared_task.hpp"
#include "base/end_words.hpp"
#include "base/event_schema.hpp"
#include "base/heap_bytes.hpp"
#include "base/text.hpp"
#include "base/tool_name.hpp"

namespace tracer::internal {
namespace {

constexpr int kMostAbove = 64;
constexpr std::int32_t kNotFound = 127;
constexpr std::int32_t kNotExecutable = 126;
constexpr std::size_t kMostNamed = 4;
constexpr std::size_t kMostCalled = 3;

std::string tool_of(const Process& process) { return known_tool(*process.program).value_or("?"); }

/// As it was called, and without what it runs: "timeout", not "timeout sort"; "pkill", not the "pgrep" that it is.
std::string program_of(const Process& process) {
  const Program& program = *process.program;
  if (program.argv && !program.argv->empty()) {
    std::string_view name = base_name(program.argv->front());
    // As login shells are called.
    if (name.starts_with('-')) name.remove_prefix(1);
    if (!name.empty()) return std::string(name);
  }
  return program.exe ? std::string(base_name(*program.exe)) : tool_of(process);
}

/// Its name, and its first arguments that are neither options nor assignments: "make check".
std::string called_as(const Process& process) {
  std::string called = program_of(process);
  if (!process.program->argv) return called;
  std::size_t words = 0;
  for (std::size_t i = 1; i < process.program->argv->size() && words < kMostCalled; ++i) {
    const std::string& word = (*process.program->argv)[i];
    if (word.empty() || word[0] == '-' || word.find('=') != std::string::npos ||
        word.find_first_not_of("0123456789") == std::string::npos)
      continue;
    called += ' ' + word;
    ++words;
  }
  return called;
}

/// Some, such as Python and shells, clean up and send it to themselves again.
bool is_interrupt(const FailureOrigin& origin) {
  return origin.exit_signal == SIGINT && (origin.sender == "kernel" || origin.sender_pid == origin.process->pid);
}

std::string how_of(const FailureOrigin& origin) {
  if (is_interrupt(origin)) return "was interrupted by Ctrl-C";
  const std::int32_t signal = origin.exit_code.value_or(0) - kOfSignal;
  if (signal == SIGKILL || signal == SIGTERM) return fmt::format("{} (128 + {})", how(origin), signal_name(signal));
  return how(origin);
}

/// Of a signal that nothing else is said of: whose it was.
void add_sender(FindingDraft& draft, const FailureOrigin& origin, const FindingBook& book) {
  if (!origin.exit_signal || !origin.sender_pid || !origin.sender_process) return;
  const Process& sender = *origin.sender_process;
  draft.evidence.push_back(words("sent_by", *origin.sender_pid == origin.process->pid
                                                ? "itself"
                                                : fmt::format("{} (pid {})", book.name_of(sender, draft), sender.pid)));
}

void add_explained(FindingDraft& draft, const FailureOrigin& origin) {
  if (origin.exit_code == kOfSignal + SIGKILL)
    draft.evidence.push_back(words("explained", "137 is the status of what was killed, most often for its memory"));
  if (origin.exit_code == kOfSignal + SIGTERM)
    draft.evidence.push_back(
        words("explained", "143 is the status of what was ended by SIGTERM, such as at a limit of time"));
}

/// It stops where a command of it fails, in pipes, too, by its arguments.
bool is_careful(const Process& shell) {
  if (!shell.program->argv) return false;
  const auto& argv = *shell.program->argv;
  const auto stops = [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word[1] != '-' && word.find('e') != std::string::npos;
  };
  const auto has_pipefail = [](const std::string& word) { return word.find("pipefail") != std::string::npos; };
  return std::any_of(argv.begin(), argv.end(), stops) && std::any_of(argv.begin(), argv.end(), has_pipefail);
}

void add_status(FindingDraft& draft, const FailureOrigin& origin) {
  if (origin.exit_signal)
    draft.evidence.push_back(figure("exit_signal", static_cast<std::uint64_t>(*origin.exit_signal)));
  if (origin.exit_code) draft.evidence.push_back(figure("exit_code", static_cast<std::uint64_t>(*origin.exit_code)));
}

/// What ends a program for its own mistakes.
/// The kernel sends it where a process exceeds its own limit of CPU time or file size.
bool is_of_limit(std::int32_t signal) { return signal == SIGXCPU || signal == SIGXFSZ; }

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

bool is_batch_daemon(std::string_view tool) {
  for (const std::string_view known :
       {"slurmstepd", "slurmd", "pbs_mom", "sge_execd", "sge_shepherd", "condor_starter", "lsf_sbatchd", "sbatchd"})
    if (tool == known) return true;
  return false;
}

std::string_view killer_code(const FailureOrigin& origin) {
  const std::string sender = origin.sender_process ? program_of(*origin.sender_process) : std::string();
  if (sender == "timeout") return "killed_by_timeout";
  if (is_batch_daemon(sender)) return "killed_by_scheduler";
  if (origin.sender_process && origin.sender_process->context->engine_own) return "killed_by_engine";
  // What belongs to the run ends its own as it likes.
  return origin.ended_by_starter ? std::string_view() : "killed_by_user";
}

int rank(std::string_view severity) {
  if (severity == "error") return 3;
  if (severity == "warning") return 2;
  return severity.empty() ? 0 : 1;
}

bool is_engine(const std::shared_ptr<const Process>& process) { return process && process->context->engine_own; }

}  // namespace

FailureFindings::FailureFindings(FindingBook& book)
    : book_(book),
      readers_(book.rules().limit("partial_output_used", "least_bytes"), book.accounts()),
      retried_(book),
      by_scope_(kMostBytes, "findings_full", book.accounts()),
      leaders_(kMostBytesOfLeaders, "findings_full", book.accounts()),
      oom_kills_(kMostBytesOfOomKills, {}, book.accounts()) {
  book.scopes().when_gone([this](ScopeId id, ScopeId into) { gone(id, into); });
}

bool FailureFindings::is_below_trying(const Process& process) const {
  const auto tries = [this](const Process& each) {
    return book_.rules().tries(tool_of(each)) || book_.rules().tries(called_as(each));
  };
  if (tries(process)) return true;
  auto parent = process.parent_pid;
  for (int above = 0; parent && above < kMostAbove; ++above) {
    const auto known = chains_.known_process(*parent);
    if (known == nullptr) return false;
    if (tries(*known)) return true;
    parent = known->parent_pid;
  }
  return false;
}

bool FailureFindings::is_above(const Process& process, const Process& below) const {
  auto parent = below.parent_pid;
  for (int above = 0; parent && above < kMostAbove; ++above) {
    if (*parent == process.pid) return true;
    const auto known = chains_.known_process(*parent);
    if (known == nullptr) return false;
    parent = known->parent_pid;
  }
  return false;
}

void FailureFindings::began(std::uint32_t pid, std::uint64_t start_ns, const Context& context, bool is_run) {
  chains_.leads(pid, start_ns, context);
  const ScopeId id = book_.scopes().id_of(context, is_run);
  if (id != ScopeId::kNone) leaders_.put(id, context.owner_uid, 0, Leader{pid, start_ns, nullptr, is_run});
}

void FailureFindings::gone(ScopeId id, ScopeId into) {
  if (into == ScopeId::kNone) {
    leaders_.erase(id);
    return by_scope_.erase(id);
  }
  leaders_.rename(id, into);
  const auto both = by_scope_.rename(id, into);
  if (!both) return;
  for (const FailedPtr& each : both->all) remember(into, each);
  Scope& scope = *by_scope_.find(into);
  scope.dropped.add(both->dropped);
  scope.dropped_work.add(both->dropped_work);
  scope.ran_out_of_memory |= both->ran_out_of_memory;
}

void FailureFindings::process_killed(const OomKill& kill) {
  oom_kills_.put(kill.process->pid, owner_of(*kill.process), 0, kill);
}

void FailureFindings::process_ended(const ProcessExit& exit, std::vector<Event>& events) {
  events_ = &events;
  now_ns_ = exit.time_ns;
  FailedPtr failed;
  if (exit.exit_signal || exit.exit_code.value_or(0) != 0) {
    const Account& account = exit.program.account;
    failed = std::make_shared<Failed>();
    failed->end_ns = exit.end_ns;
    failed->cpu_ns = account.cpu_ns.value_or(0);
    failed->written_bytes = account.written_bytes.value_or(0);
    // What is not known is not held against it.
    failed->little = !exit.exit_signal && is_brief(exit) && account.storage_written_bytes.value_or(0) == 0;
    failed->could_not_load = exit.exit_code && could_not_load(*exit.process, exit.program, *exit.exit_code);
  } else {
    readers_.saw(exit);
  }
  chains_.ended(exit, exit.process->context->engine_own, failed);
  oom_kills_.erase(exit.process->pid);
  for (const bool is_run : {false, true}) {
    Leader* const leader = leaders_.find(book_.scopes().id_of(*exit.process->context, is_run));
    if (leader == nullptr || leader->pid != exit.process->pid) continue;
    leader->end_ns = exit.end_ns;
    leader->exit_code = exit.exit_code;
    leader->exit_signal = exit.exit_signal;
  }
  events_ = nullptr;
}

void FailureFindings::decide(const FailureOrigin& origin, Verdict verdict) {
  const auto known = std::static_pointer_cast<Failed>(origin.tag);
  if (!known || (verdict != Verdict::kFailed && !known->origin.process)) return;
  known->origin = origin;
  known->origin.tag = nullptr;
  if (verdict == Verdict::kFailed) failed(known);
}

void FailureFindings::failed(const FailedPtr& failed) {
  const FailureOrigin& origin = failed->origin;
  const bool by_itself = origin.sender_pid == origin.process->pid;
  const bool by_process = origin.sender == "process" && !by_itself;
  failed->trying = is_below_trying(*origin.process);
  failed->crashed = origin.exit_signal && is_crash(*origin.exit_signal) && !by_process;
  failed->by_kernel = origin.oom_killed.value_or(false) || (failed->crashed && !by_itself) ||
                      (origin.exit_signal && is_of_limit(*origin.exit_signal) && origin.sender == "kernel");
  failed->by_stranger = origin.exit_signal && by_process && !killer_code(origin).empty();
  report_end(*failed);
  if (const auto scope = book_.scopes().make(*origin.process->context)) remember(scope->id, failed);
}

void FailureFindings::add_oom(FindingDraft& draft, const Process& process) const {
  draft.code = "oom_kill";
  const OomKill* const known = oom_kills_.find(process.pid);
  if (known == nullptr) return;
  const OomKill& kill = *known;
  const auto add = [&](const char* name, const std::optional<std::uint64_t>& value) {
    if (value) draft.evidence.push_back(figure(name, *value, "bytes"));
  };
  add("limit_bytes", kill.limit_bytes);
  add("usage_bytes", kill.usage_bytes);
  add("peak_bytes", kill.peak_bytes);
  if (kill.scope) draft.evidence.push_back(words("scope", *kill.scope));
  if (kill.limit_cgroup) draft.evidence.push_back(words("limit_cgroup", *kill.limit_cgroup));
  if (!kill.allocator_pid) return;
  draft.evidence.push_back(figure("allocator_pid", *kill.allocator_pid));
  const auto allocator = *kill.allocator_pid == process.pid ? nullptr : chains_.known_process(*kill.allocator_pid);
  if (allocator && book_.may_name(draft, *allocator->context, allocator->uid))
    draft.evidence.push_back(words("allocator", tool_of(*allocator)));
}

/// What is known at once, whatever its task makes of it.
void FailureFindings::report_end(Failed& failed) {
  if (events_ == nullptr) return;
  const FailureOrigin& origin = failed.origin;
  const Process& process = *origin.process;
  const bool in_work = work_key(*process.context) != 0;
  const bool is_declared = is_declared_task(*process.context);
  FindingDraft draft;
  draft.context = process.context;
  draft.process = origin.process;
  draft.first_ns = draft.last_ns = failed.end_ns;
  draft.closed = true;
  draft.evidence = {words("how", how_of(origin)),
                    figure("life_ns", failed.end_ns - std::min(failed.end_ns, process.start_ns), "ns")};
  add_status(draft, origin);
  if (origin.oom_killed.value_or(false)) {
    add_oom(draft, process);
    if (!in_work) draft.severity = "warning";
  } else if (failed.by_stranger) {
    draft.code = killer_code(origin);
    const auto& sender = origin.sender_process;
    draft.evidence.push_back(words("sender", !sender ? "another process"
                                             : book_.may_name(draft, *sender->context, sender->uid)
                                                 ? program_of(*sender)
                                                 : std::string(kAnothersProgram)));
    if (origin.sender_pid) draft.evidence.push_back(figure("sender_pid", *origin.sender_pid));
  } else if (failed.crashed) {
    draft.code = "core_dumped";
    draft.evidence.push_back(words("signal", signal_name(*origin.exit_signal)));
    // One that aborts reports a mistake, which its starter may expect.
    if (!failed.by_kernel) draft.severity = is_declared ? "warning" : "note";
  } else if (failed.could_not_load) {
    draft.code = "library_not_found";
    draft.confidence = "medium";
    if (!is_declared) draft.severity = "note";
  } else if (origin.exit_code == kNotFound || origin.exit_code == kNotExecutable) {
    draft.code = origin.exit_code == kNotFound ? "command_not_found" : "no_permission";
    draft.confidence = "medium";
    if (!is_declared) draft.severity = "note";
  } else {
    return;
  }
  // Of what is nobody's work only that memory ran out matters to others.
  if (!in_work && draft.code != "oom_kill") return;
  if (failed.trying) draft.severity = "note";
  const FindingRule* rule = book_.rules().rule_of(draft.code);
  failed.said = draft.severity.empty() && rule != nullptr ? std::string_view(rule->severity) : draft.severity;
  failed.at_end = std::make_shared<const FindingDraft>(draft);
  book_.report(draft, now_ns_, *events_);
}

/// Not one above it: that sees how it ends.
std::shared_ptr<const Process> FailureFindings::reader_of(const Failed& failed) const {
  const Process& process = *failed.origin.process;
  if (failed.origin.reader_left || book_.rules().is_normal("partial_output_used", tool_of(process))) return nullptr;
  auto reader = readers_.reader_of(process.pid, failed.end_ns, failed.written_bytes);
  return reader && !is_above(*reader, process) ? reader : nullptr;
}

/// Where its end was a finding already, that is completed: a failure is one finding.
bool FailureFindings::report_used(Failed& failed, const Leader& scope, std::uint64_t time_ns,
                                  std::vector<Event>& events) {
  const auto reader = reader_of(failed);
  if (reader == nullptr) return false;
  FindingDraft draft;
  if (failed.at_end) {
    draft = *failed.at_end;
  } else {
    draft.code = "partial_output_used";
    draft.context = scope.context;
    draft.process = failed.origin.process;
    draft.first_ns = draft.last_ns = failed.end_ns;
    draft.closed = true;
    draft.confidence = failed.origin.ignored_by || failed.by_kernel || failed.by_stranger ? "high" : "medium";
    draft.evidence = {words("how", how_of(failed.origin))};
    add_status(draft, failed.origin);
  }
  draft.severity = failed.trying ? "note" : "error";
  draft.evidence.push_back(words("reader", book_.name_of(*reader, draft)));
  draft.evidence.push_back(figure("written_bytes", failed.written_bytes, "bytes"));
  failed.said = draft.severity;
  book_.report(draft, time_ns, events);
  return true;
}

/// `alike`: not empty; the worst stands for all.
void FailureFindings::report_silent(std::vector<FailedPtr> alike, const Dropped& dropped, const Leader& scope,
                                    std::string_view severity, std::uint64_t time_ns, std::vector<Event>& events) {
  std::uint64_t first_ns = dropped.first_ns;
  std::uint64_t last_ns = 0;
  for (const FailedPtr& each : alike) {
    first_ns = std::min(first_ns, each->end_ns);
    last_ns = std::max(last_ns, each->end_ns);
  }
  std::stable_sort(alike.begin(), alike.end(), [](const FailedPtr& one, const FailedPtr& other) {
    const auto weight = [](const Failed& each) {
      return std::tuple(each.origin.exit_signal.has_value(), !each.little, each.little ? 0 : each.cpu_ns,
                        each.little ? 0 : each.written_bytes);
    };
    return weight(*one) > weight(*other);
  });
  const std::uint64_t count = alike.size() + dropped.count;
  const Failed& failed = *alike.front();
  const FailureOrigin& origin = failed.origin;
  FindingDraft draft;
  draft.code = "silent_failure";
  draft.severity = severity;
  draft.context = scope.context;
  draft.process = origin.process;
  draft.first_ns = first_ns;
  draft.last_ns = last_ns;
  draft.count = count;
  draft.closed = true;
  draft.confidence = origin.ignored_by || failed.by_kernel || failed.by_stranger ? "high" : "medium";
  draft.evidence = {words("how", how_of(origin))};
  add_status(draft, origin);
  if (origin.ignored_by)
    draft.evidence.push_back(words(!is_shell(*origin.ignored_by)    ? "program"
                                   : is_careful(*origin.ignored_by) ? "careful_shell"
                                                                    : "shell",
                                   book_.name_of(*origin.ignored_by, draft)));
  add_sender(draft, origin, book_);
  add_explained(draft, origin);
  if (count > 1) {
    std::vector<std::string> named;
    for (std::size_t i = 1; i < alike.size() && named.size() < kMostNamed; ++i) {
      std::string tool = book_.name_of(*alike[i]->origin.process, draft);
      if (std::find(named.begin(), named.end(), tool) == named.end()) named.push_back(std::move(tool));
    }
    std::string others;
    for (const std::string& each : named) others += (others.empty() ? "" : ", ") + each;
    draft.evidence.push_back(figure("others", count - 1, "count"));
    draft.evidence.push_back(words("other_tools", others));
  }
  for (const FailedPtr& each : alike) each->said = severity;
  book_.report(draft, time_ns, events);
}

void FailureFindings::ended_well(const Scope& scope, const Leader& leader, std::uint64_t time_ns,
                                 std::vector<Event>& events) {
  const bool is_declared = !leader.is_run && is_declared_task(*leader.context);
  std::vector<FailedPtr> warnings;
  std::vector<FailedPtr> notes;
  for (const FailedPtr& each : scope.all) {
    if (report_used(*each, leader, time_ns, events)) continue;
    const bool is_error = each->by_kernel || each->by_stranger;
    // Its starter may have had what it wanted from another.
    const bool is_ended = each->origin.ended_by_starter && each->origin.passed_on_by.empty();
    const std::string_view severity = each->trying || is_ended       ? "note"
                                      : is_error                     ? "error"
                                      : is_declared && !each->little ? "warning"
                                                                     : "note";
    // One thing that happened is one finding.
    if (rank(each->said) >= rank(severity)) continue;
    if (severity == "error") {
      report_silent({each}, {}, leader, severity, time_ns, events);
    } else {
      (severity == "note" ? notes : warnings).push_back(each);
    }
  }
  Dropped dropped_warnings = is_declared ? scope.dropped_work : Dropped();
  Dropped dropped_notes = scope.dropped;
  if (!is_declared) dropped_notes.add(scope.dropped_work);
  if (notes.empty()) dropped_warnings.add(std::exchange(dropped_notes, {}));
  if (warnings.empty()) dropped_notes.add(dropped_warnings);
  if (!warnings.empty()) report_silent(std::move(warnings), dropped_warnings, leader, "warning", time_ns, events);
  if (!notes.empty()) report_silent(std::move(notes), dropped_notes, leader, "note", time_ns, events);
}

/// The failure that the leader's status comes from; else the last that may have led to it: one that nobody ignored, of
/// a child of the leader or of an engine, and what that in turn may come from.
FailureFindings::Cause FailureFindings::cause_of(const Scope& scope, const Leader& leader) const {
  FailedPtr own;
  FailedPtr passed;
  for (const FailedPtr& each : scope.all) {
    const auto& passing = each->origin.passed_on_by;
    if (each->origin.process->pid == leader.pid) own = each;
    const bool reaches =
        std::any_of(passing.begin(), passing.end(), [&](const auto& by) { return by->pid == leader.pid; });
    if (reaches && (!passed || each->end_ns < passed->end_ns)) passed = each;
  }
  if (passed) return {passed, !passed->origin.is_likely};
  FailedPtr likely;
  for (auto each = scope.all.rbegin(); each != scope.all.rend(); ++each) {
    const FailureOrigin& origin = (*each)->origin;
    // An engine goes on with the rest before it fails, or ends the rest.
    if (origin.ignored_by && !is_engine(origin.ignored_by)) continue;
    if (origin.process->pid == leader.pid || is_engine(origin.sender_process)) continue;
    const auto& top = origin.passed_on_by.empty() ? origin.process : origin.passed_on_by.back();
    const auto parent = top->parent_pid ? chains_.known_process(*top->parent_pid) : nullptr;
    const bool leads_up = likely ? parent != nullptr && parent->pid == likely->origin.process->pid
                                 : parent == nullptr || is_engine(parent) || parent->pid == leader.pid;
    if (leads_up) likely = *each;
  }
  if (likely) return {likely, false};
  return {own, own != nullptr};
}

void FailureFindings::ended_badly(ScopeId id, Scope& scope, const Leader& leader, std::uint64_t time_ns,
                                  std::vector<Event>& events) {
  const Cause cause = cause_of(scope, leader);
  if (!cause.failed) return;
  Failed& failed = *cause.failed;
  const FailureOrigin& origin = failed.origin;
  FindingDraft draft;
  draft.code = "first_failure";
  draft.subject = leader.is_run ? "run" : "task";
  draft.confidence = cause.is_certain ? "high" : "medium";
  draft.context = leader.context;
  draft.process = origin.process;
  draft.first_ns = failed.end_ns;
  draft.last_ns = leader.end_ns.value_or(time_ns);
  draft.closed = true;
  draft.evidence = {words("how", how_of(origin))};
  std::string passed_on_by;
  std::string last;
  for (const auto& process : origin.passed_on_by) {
    // Subshells have the name of their shell.
    if (book_.name_of(*process, draft) == last) continue;
    last = book_.name_of(*process, draft);
    passed_on_by += (passed_on_by.empty() ? "" : ", ") + last;
  }
  if (!passed_on_by.empty()) draft.evidence.push_back(words("passed_on_by", passed_on_by));
  const std::uint64_t failures = scope.all.size() + scope.dropped.count + scope.dropped_work.count;
  if (failures > 1) draft.evidence.push_back(figure("failures", failures, "count"));
  add_sender(draft, origin, book_);
  if (!scope.ran_out_of_memory) add_explained(draft, origin);
  const bool is_minor = failed.trying || is_interrupt(origin) || (!leader.is_run && !is_declared_task(*leader.context));
  draft.severity = is_minor ? "note" : "warning";
  if (rank(failed.said) < rank(draft.severity)) failed.said = draft.severity;
  book_.report(draft, time_ns, events);
  std::vector<FindingDraft> said = {draft};
  for (const FailedPtr& each : scope.all)
    if (each->at_end) said.push_back(*each->at_end);
  scope.said = std::make_shared<const std::vector<FindingDraft>>(std::move(said));
  // A task that failed inside of another, or of a run: what becomes of it there?
  const auto process = chains_.known_process(leader.pid);
  const auto parent = process && process->parent_pid ? chains_.known_process(*process->parent_pid) : nullptr;
  const auto around = parent ? book_.scopes().make(*parent->context) : nullptr;
  if (around && around->id != id) remember(around->id, cause.failed);
}

FailureFindings::Scope FailureFindings::leader_ended(ScopeId id, const Leader& leader, std::uint64_t time_ns,
                                                     std::vector<Event>& events) {
  leaders_.erase(id);
  Scope* const known = by_scope_.find(id);
  if (known == nullptr) return {};
  Scope scope = std::move(*known);
  by_scope_.erase(id);
  if (leader.exit_code == 0) {
    ended_well(scope, leader, time_ns, events);
  } else if (leader.exit_code || leader.exit_signal) {
    ended_badly(id, scope, leader, time_ns, events);
  }
  return scope;
}

std::size_t FailureFindings::bytes_of(const Failed& failed) {
  return sizeof(Failed) + heap_bytes(*failed.origin.process);
}

void FailureFindings::Dropped::add(const Dropped& other) {
  count += other.count;
  first_ns = std::min(first_ns, other.first_ns);
}

void FailureFindings::drop(Scope& scope, const Failed& failed) {
  (failed.little || failed.trying ? scope.dropped : scope.dropped_work).add({1, failed.end_ns});
}

void FailureFindings::remember(ScopeId id, const FailedPtr& failed) {
  const Process& process = *failed->origin.process;
  Scope* const known = by_scope_.contains(id) ? by_scope_.find(id) : by_scope_.put(id, owner_of(process), 0, {});
  if (known == nullptr) return;
  Scope& scope = *known;
  scope.ran_out_of_memory |= failed->origin.oom_killed.value_or(false);
  if (scope.all.size() >= kMostOfScope) {
    // What was ignored has not ended anything; the first of the others may have.
    auto least = std::find_if(scope.all.begin(), scope.all.end(), [](const FailedPtr& each) {
      return each->origin.ignored_by && !each->by_kernel && !each->by_stranger;
    });
    if (least == scope.all.end()) least = std::next(scope.all.begin());
    scope.bytes -= bytes_of(**least);
    drop(scope, **least);
    scope.all.erase(least);
  }
  const std::size_t bytes = scope.bytes + bytes_of(*failed);
  if (!by_scope_.charge(id, bytes)) return drop(scope, *failed);
  scope.bytes = bytes;
  scope.all.push_back(failed);
}

void FailureFindings::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  const auto ended = [&](const auto& finish) {
    return leader_ended(end.id,
                        {finish.pid, finish.start_ns, finish.context, end.is_run(), finish.end_ns, finish.exit_code,
                         finish.exit_signal},
                        finish.time_ns, events);
  };
  if (end.is_run()) return static_cast<void>(ended(*end.run));
  const Scope scope = ended(*end.task);
  retried_.finished(*end.task, scope.ran_out_of_memory, scope.said, events);
}

void FailureFindings::session_ends(std::uint64_t time_ns, std::vector<Event>& events) {
  events_ = &events;
  now_ns_ = time_ns;
  chains_.finish(time_ns);
  events_ = nullptr;
  // Something in them lives on, but their status is known.
  for (const bool is_run : {false, true}) {
    std::vector<std::pair<Book::ScopePtr, Leader>> over;
    leaders_.each([&](ScopeId id, const Leader& leader) {
      if (leader.is_run == is_run && leader.end_ns) over.emplace_back(book_.scopes().find(id), leader);
    });
    std::sort(over.begin(), over.end(),
              [](const auto& one, const auto& other) { return one.first->key < other.first->key; });
    for (auto& [scope, leader] : over) {
      leader.context = scope->context;
      leader_ended(scope->id, leader, time_ns, events);
    }
  }
}

}  // namespace tracer::internal
