// SPDX-License-Identifier: Apache-2.0
#include "insight/stall_findings.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/declared_task.hpp"
#include "base/most_processes.hpp"
#include "insight/shares.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kStalled = "stalled";
constexpr std::string_view kCircle = "deadlocked_pipe";
/// A wait fills a span where nothing else takes more than a tenth of it.
constexpr std::uint64_t kFills_percent = 90;
/// Of a pipe that is followed.
constexpr std::size_t kMostStages = 32;

struct Wait {
  std::string_view name;
  std::uint64_t ProcessLedger::*member;
  std::string_view words;       ///< What it waits for.
  std::string_view confidence;  ///< That it stands still.
};

constexpr std::array<Wait, 12> kWaits = {{
    {"pipe_read", &ProcessLedger::pipe_read_ns, "data from a pipe", "high"},
    {"pipe_write", &ProcessLedger::pipe_write_ns, "another program to read from a pipe", "high"},
    {"lock", &ProcessLedger::lock_ns, "a lock", "medium"},
    {"disk", &ProcessLedger::disk_ns, "storage", "high"},
    {"network", &ProcessLedger::network_ns, "an answer from the network", "medium"},
    {"local_socket", &ProcessLedger::local_socket_ns, "an answer from another program", "medium"},
    {"poll", &ProcessLedger::poll_ns, "input, or an event", "medium"},
    {"swap", &ProcessLedger::swap_ns, "memory to be read back", "high"},
    {"stopped", &ProcessLedger::stopped_ns, "somebody to continue it: it was stopped", "high"},
    {"child", &ProcessLedger::child_ns, "a child", "medium"},
    {"sleep", &ProcessLedger::sleep_ns, "time to pass: it sleeps", "medium"},
    {"other", &ProcessLedger::other_ns, "something that the kernel does not name", "medium"},
}};

const Wait* wait_that_fills(const ProcessLedger& ledger) {
  for (const Wait& wait : kWaits)
    if (ledger.life_ns > 0 && percent(ledger.*wait.member, ledger.life_ns) >= kFills_percent) return &wait;
  return nullptr;
}

bool is_in_pipe(std::string_view waits_for) { return waits_for == "pipe_read" || waits_for == "pipe_write"; }

/// It waits for who asks it for something: of a terminal, the kernel names nothing.
bool is_asked(std::string_view waits_for) { return waits_for == "poll" || waits_for == "other"; }

const Wait& wait_named(std::string_view name) {
  return *std::find_if(kWaits.begin(), kWaits.end(), [name](const Wait& wait) { return wait.name == name; });
}

}  // namespace

StallFindings::StallFindings(FindingBook& book)
    : book_(book),
      least_with_past_ns_(book.rules().limit(kStalled, "least_with_past_ns")),
      past_percent_(book.rules().limit(kStalled, "past_percent")),
      least_ns_(book.rules().limit(kStalled, "least_ns")),
      least_sleep_ns_(book.rules().limit(kStalled, "least_sleep_ns")),
      most_cpu_percent_(book.rules().limit(kStalled, "most_cpu_percent")),
      least_circle_ns_(book.rules().limit(kCircle, "least_ns")),
      works_(book) {}

void StallFindings::moved(const Process& process, std::uint64_t time_ns) {
  if (Work* work = works_.make(process)) work->moved_ns = std::max(work->moved_ns, time_ns);
}

void StallFindings::process_lived(const ProcessSpan& span, std::vector<Event>&) {
  const Process& process = *span.process;
  if (span.ended) {
    members_.erase(process.pid);
    moved(process, span.to_ns);
    return;
  }
  Work* work = works_.make(process);
  if (work == nullptr || (members_.size() >= kMostLivingProcesses && !members_.contains(process.pid))) return;
  // Where it was lost, when something moved last is not known.
  if (work->snapshot == 0) work->moved_ns = std::max(work->moved_ns, span.to_ns);
  if (work->snapshot != snapshot_) {
    work->snapshot = snapshot_;
    work->sampled.clear();
  }
  work->sampled.push_back(process.pid);
  Member& member = members_[process.pid];
  const bool is_new = member.start_ns != process.start_ns;
  const ProcessFigures& change = span.change;
  const Wait* wait = wait_that_fills(change.ledger);
  // What comes in pieces ends a wait for each, and takes little time of a CPU.
  const bool pieces =
      change.switches > 0 && (wait == nullptr || wait->name == "network" || wait->name == "disk" ||
                              wait->name == "local_socket" || wait->name == "pipe_read" || wait->name == "pipe_write");
  const ScopeId scope = book_.scopes().id_of(*process.context);
  const bool moves = is_new || !span.total.known || wait == nullptr || pieces || change.read_bytes > 0 ||
                     change.written_bytes > 0 || change.network_bytes > 0 ||
                     percent(change.cpu_ns, span.to_ns - span.from_ns) >= most_cpu_percent_ || member.scope != scope;
  if (moves) {
    member.quiet_since_ns = span.to_ns;
    member.asked = false;
    member.mount.reset();
  }
  member.threads = span.threads;
  member.start_ns = process.start_ns;
  member.scope = scope;
  member.snapshot = snapshot_;
  member.waits_for = wait == nullptr ? std::string_view() : wait->name;
  member.peer_pid = member.waits_for == "pipe_read"    ? span.pipe_read_peer_pid.value_or(0)
                    : member.waits_for == "pipe_write" ? span.pipe_write_peer_pid.value_or(0)
                                                       : 0;
  member.process = span.process;
}

/// From one to the process that it waits for, until one comes again: each is visited once.
bool StallFindings::waits_in_circle(const std::vector<const Member*>& members) const {
  struct Step {
    std::uint32_t to = 0;
    std::size_t walk = 0;  ///< In which it was met. 0: not yet.
  };
  std::unordered_map<std::uint32_t, Step> steps;
  for (const Member* each : members) steps[each->process->pid].to = each->peer_pid;
  std::size_t walk = 0;
  for (const Member* first : members) {
    ++walk;
    auto at = steps.find(first->process->pid);
    while (at != steps.end() && at->second.walk == 0) {
      at->second.walk = walk;
      at = steps.find(at->second.to);
    }
    if (at != steps.end() && at->second.walk == walk && at->second.to != at->first) return true;
  }
  return false;
}

StallFindings::Natures StallFindings::natures_of(const std::vector<const Member*>& members) const {
  Natures natures;
  for (const Member* each : members) {
    const bool is_normal = book_.rules().is_normal(kStalled, each->process->program->tool.value_or(""));
    natures.by_pid[each->process->pid] = {each, is_normal};
    natures.any_normal = natures.any_normal || is_normal;
  }
  return natures;
}

/// Who waits for what waits by nature, waits by nature, too. Where the other end is not known, it may be that.
bool StallFindings::waits_by_nature(const Member& member, const Natures& natures) {
  if (!natures.any_normal) return false;
  std::uint32_t pid = member.process->pid;
  for (std::size_t stages = 0; stages < kMostStages; ++stages) {
    const auto at = natures.by_pid.find(pid);
    if (at == natures.by_pid.end()) return false;
    const auto& [each, is_normal] = at->second;
    if (is_normal || each->waits_for == "poll" || each->waits_for == "local_socket") return true;
    if (!is_in_pipe(each->waits_for)) return false;
    if (each->peer_pid == 0) return true;
    pid = each->peer_pid;
  }
  return false;
}

/// Earlier ones may have stood as still for a while; and where they were over by now, this one is late.
std::uint64_t StallFindings::needed_ns(std::uint64_t least_ns, const std::optional<UsualPace>& pace) const {
  if (!pace) return least_ns;
  const auto more_than = [this](std::uint64_t time_ns) { return time_ns / 100 * past_percent_; };
  return std::max(more_than(pace->idle_ns),
                  std::min(least_ns, std::max(least_with_past_ns_, more_than(pace->wall_ns))));
}

/// Once for each wait: an answer would be the same.
const std::optional<AwaitedMount>& StallFindings::mount_of(std::uint32_t pid) {
  Member& member = members_[pid];
  const Process& process = *member.process;
  // What another user's process in it uses is not named.
  if (read_mount_ && !std::exchange(member.asked, true) && book_.is_own(process))
    member.mount = read_mount_(pid, process.start_ns, process.program->argv.value_or(std::vector<std::string>()));
  return member.mount;
}

void StallFindings::report(const ScopeFigures& figures, const std::vector<const Member*>& members,
                           std::uint64_t since_ns, std::uint64_t time_ns, std::vector<Event>& events) {
  const std::uint64_t still_ns = time_ns - std::min(since_ns, time_ns);
  if (still_ns < std::min({least_ns_, least_circle_ns_, least_with_past_ns_})) return;
  FindingDraft draft = draft_of({}, figures);
  draft.first_ns = since_ns;
  draft.last_ns = time_ns;
  draft.evidence = {figure("still_ns", still_ns, "ns"), figure("processes", members.size(), "count")};
  const bool in_pipes = std::all_of(members.begin(), members.end(), [](const Member* each) {
    return is_in_pipe(each->waits_for) || each->waits_for == "child";
  });
  if (still_ns >= least_circle_ns_ && in_pipes && waits_in_circle(members)) {
    draft.code = kCircle;
    draft.confidence = "medium";
    std::string tools;
    for (const Member* each : members)
      if (each->peer_pid != 0) tools += (tools.empty() ? "" : ", ") + book_.name_of(*each->process, draft);
    draft.evidence.push_back(words("programs", tools));
    return book_.report(draft, time_ns, events);
  }
  const auto pace = find_pace_ ? find_pace_(*figures.context) : std::nullopt;
  if (still_ns < needed_ns(least_ns_, pace)) return;
  // Those that wait for others of the task explain nothing: for a child, and for a pipe where there is anything else.
  const Member* culprit = nullptr;
  const auto rank = [](const Member& each) {
    return is_in_pipe(each.waits_for) ? 0 : is_asked(each.waits_for) ? 1 : 2;
  };
  bool any_sleeps = false;
  const Natures natures = natures_of(members);
  for (const Member* each : members) {
    if (each->waits_for == "child" || waits_by_nature(*each, natures)) continue;
    any_sleeps = any_sleeps || each->waits_for == "sleep";
    if (culprit == nullptr || rank(*each) > rank(*culprit) ||
        (rank(*each) == rank(*culprit) && each->quiet_since_ns < culprit->quiet_since_ns))
      culprit = each;
  }
  // Who sleeps wakes up by itself.
  if (culprit == nullptr || (any_sleeps && still_ns < needed_ns(least_sleep_ns_, pace))) return;
  // So does a server, or a program at a prompt: a task that an engine runs has neither.
  const bool may_be_meant = is_asked(culprit->waits_for);
  if (may_be_meant && !is_declared_task(*figures.context)) return;
  const Wait& wait = wait_named(culprit->waits_for);
  draft.code = kStalled;
  draft.process = culprit->process;
  // Of several threads, the one that waited last stands for all.
  draft.confidence = culprit->threads > 1 ? "medium" : wait.confidence;
  draft.evidence.push_back(words("waits_for", std::string(wait.words)));
  const auto* const mount = wait.name == "disk" ? &mount_of(culprit->process->pid) : nullptr;
  if (mount != nullptr && *mount) {
    draft.evidence.push_back(words("mount", (*mount)->text));
    if (!(*mount)->certain) draft.confidence = "medium";
  }
  if (pace) {
    draft.evidence.push_back(figure("usual_ns", pace->wall_ns, "ns"));
    draft.evidence.push_back(figure("usual_idle_ns", pace->idle_ns, "ns"));
    draft.evidence.push_back(figure("past", pace->past, "count"));
  }
  if (any_sleeps || may_be_meant) draft.severity = "note";
  book_.report(draft, time_ns, events);
}

void StallFindings::scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  if (figures.is_run && figures.by_tasks) return;
  const Work* const known = works_.find(figures.id);
  // Processes that were folded may move.
  if (known == nullptr || known->snapshot + 1 != snapshot_ || known->sampled.empty() ||
      known->sampled.size() != figures.living)
    return;
  std::uint64_t since_ns = known->moved_ns;
  std::vector<const Member*> members;
  for (const std::uint32_t pid : known->sampled) {
    const auto member = members_.find(pid);
    if (member == members_.end()) return;
    since_ns = std::max(since_ns, member->second.quiet_since_ns);
    members.push_back(&member->second);
  }
  if (since_ns < time_ns) return report(figures, members, since_ns, time_ns, events);
  for (const std::string_view code : {kStalled, kCircle})
    book_.close(code, figures.is_run ? "run" : "task", *figures.context, nullptr, time_ns, events);
}

}  // namespace tracer::internal
