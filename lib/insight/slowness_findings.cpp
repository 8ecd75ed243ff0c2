// SPDX-License-Identifier: Apache-2.0
#include "insight/slowness_findings.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/certain_waits.hpp"
#include "insight/shares.hpp"

namespace tracer::internal {
namespace {

enum : std::size_t { kDisk, kThrottled, kNetwork, kMemory };

/// A CPU that is wanted a little more often than it is there costs little.
constexpr std::uint64_t kMoreThanThere_percent = 125;
/// Who got less of the CPUs stood in line for others, whoever they are.
constexpr std::uint64_t kGotThem_percent = 75;
/// One that is open stays so until its share is this part of its threshold.
constexpr std::uint64_t kStays_percent = 80;
constexpr std::uint64_t kWindow_ns = 5'000'000'000;
/// Where so little could be computed, or so much, it is not by one thread.
constexpr std::uint64_t kSerialFrom_millicpus = 500;
constexpr std::uint64_t kSerialTo_millicpus = 1250;

std::uint64_t millicpus(std::uint64_t cpu_ns, std::uint64_t wall_ns) {
  return wall_ns == 0 ? 0
                      : static_cast<std::uint64_t>(static_cast<double>(cpu_ns) * 1000 / static_cast<double>(wall_ns));
}

std::string cpus_text(std::uint64_t millicpus) {
  return millicpus % 1000 == 0 ? std::to_string(millicpus / 1000)
                               : fmt::format("{:.1f}", static_cast<double>(millicpus) / 1000);
}

/// "CPU 0", "CPUs 0-3, 8".
std::string cpu_list_text(const std::set<std::uint32_t>& cpus) {
  std::string text = cpus.size() == 1 ? "CPU " : "CPUs ";
  for (auto at = cpus.begin(); at != cpus.end(); ++at) {
    const std::uint32_t first = *at;
    while (std::next(at) != cpus.end() && *std::next(at) == *at + 1) ++at;
    text += fmt::format("{}{}", first == *cpus.begin() ? "" : ", ", first);
    if (*at != first) text += fmt::format("-{}", *at);
  }
  return text;
}

}  // namespace

SlownessFindings::SlownessFindings(FindingBook& book)
    : book_(book),
      cpus_(std::max(book.cpus(), 1U)),
      most_short_life_ns_(limit("many_short_processes", "most_life_ns")),
      works_(book),
      limit_millicpus_(kMostBytesOfLimits, {}, book.accounts()) {
  constexpr std::array<std::string_view, kCauses> kCodes = {"disk_wait", "cpu_limited", "network_wait",
                                                            "memory_pressure"};
  for (std::size_t i = 0; i < kCauses; ++i)
    causes_[i] = {kCodes[i], limit(kCodes[i], "least_wall_ns"), limit(kCodes[i], "least_wait_ns"),
                  limit(kCodes[i], "least_percent"), limit(kCodes[i], "least_percent_beside")};
}

void SlownessFindings::process_lived(const ProcessSpan& span, std::vector<Event>&) {
  all_.cpu_ns += span.change.cpu_ns;
  all_.queued_ns += span.change.queued_ns;
  Work* const known = works_.make(*span.process);
  if (known == nullptr) return;
  Work& work = *known;
  if (std::exchange(work.is_new, false)) {
    work.all_since_ns = work.usage.from_ns = span.from_ns;
    work.all_before = {all_.cpu_ns - span.change.cpu_ns, all_.queued_ns - span.change.queued_ns};
  }
  work.sums.cpu_ns += span.change.cpu_ns;
  work.sums.queued_ns += span.change.queued_ns;
  work.reclaim_ns += span.change.ledger.reclaim_ns;
  work.swap_ns += span.change.ledger.swap_ns;
  work.usage.cpu_ns += span.change.cpu_ns;
  work.usage.queued_ns += span.change.queued_ns;
  if (!span.ended && span.change.queued_ns * 10 >= span.to_ns - span.from_ns && work.in_line.size() < kMostInLine)
    work.in_line.push_back(span.process->pid);
  // A part of that was before this window.
  if (span.to_ns - span.from_ns > kWindow_ns && span.change.cpu_ns > kWindow_ns / 10) work.usage.known = false;
  const auto take = [&](Most& most, std::uint64_t wait_ns) {
    if (wait_ns > most.wait_ns) most = {span.process, wait_ns};
  };
  const ProcessLedger& total = span.total.ledger;
  if (total.disk_ns + total.swap_ns > work.most[kDisk].wait_ns) work.disk = span.disk_wait_device;
  take(work.most[kDisk], total.disk_ns + total.swap_ns);
  take(work.most[kThrottled], total.throttled_ns.value_or(0));
  take(work.most[kNetwork], total.network_ns);
  take(work.most[kMemory], total.reclaim_ns + total.swap_ns);
  take(work.most_threads, span.threads);
  take(work.usage.busiest, span.change.cpu_ns);
}

void SlownessFindings::process_ended(const ProcessExit& exit, std::vector<Event>&) {
  const std::uint64_t life_ns = exit.end_ns - std::min(exit.begin_ns, exit.end_ns);
  if (life_ns > most_short_life_ns_ || exit.attached_ns) return;
  Work* const known = works_.make(*exit.process);
  if (known == nullptr) return;
  Work& work = *known;
  ++work.short_lives;
  work.short_ns += life_ns;
  const std::string tool = book_.is_own(*exit.process) ? exit.tool() : std::string(kAnothersProgram);
  if (work.short_tools.size() < kMostShortTools || work.short_tools.contains(tool)) ++work.short_tools[tool];
}

void SlownessFindings::cgroup_sampled(const CgroupSample& sample) {
  if (!sample.cgroup->id) return;
  if (!sample.cpu_limit_millicpus) {
    limit_millicpus_.erase(*sample.cgroup->id);
  } else {
    limit_millicpus_.put(*sample.cgroup->id, std::nullopt, 0, *sample.cpu_limit_millicpus);
  }
}

void SlownessFindings::decide(FindingDraft draft, bool holds, bool holds_no_more, const Scope& scope) {
  const bool is_open = book_.is_open(draft);
  if (!holds && !is_open) return;
  draft.closed = scope.figures.finished || (!holds && holds_no_more);
  // It was so for a while; now that is a small part of its time.
  if (!holds && draft.closed) draft.severity = "note";
  book_.report(draft, scope.time_ns, scope.events);
}

void SlownessFindings::look_at_waits(const Scope& scope) {
  if (!scope.figures.whole) return;
  const TaskLedger& ledger = scope.figures.ledger;
  std::array<std::uint64_t, kCauses> waits = {ledger.disk_ns, ledger.throttled_ns, ledger.network_ns, ledger.memory_ns};
  // Where the kernel had to free no memory for it, it waited for files that it had mapped: for storage, too.
  const std::uint64_t freeing_ns = scope.work.reclaim_ns;
  const bool pages_are_files = freeing_ns < scope.work.swap_ns / 4;
  const std::uint64_t pages_ns = pages_are_files ? std::exchange(waits[kMemory], 0) : 0;
  waits[kDisk] += pages_ns;
  // That others of it did not compute meanwhile is not certain for all of it.
  const std::array<std::uint64_t, kCauses> at_most = waits;
  for (std::uint64_t& wait_ns : waits) wait_ns = certain_ns(ledger, wait_ns);
  const std::size_t largest = static_cast<std::size_t>(std::max_element(waits.begin(), waits.end()) - waits.begin());
  for (std::size_t i = 0; i < kCauses; ++i) {
    const Cause& cause = causes_[i];
    const Most& most = scope.work.most[i];
    const std::uint64_t share = percent(waits[i], scope.wall_ns);
    const std::uint64_t least = i == largest ? cause.least_percent : cause.least_percent_beside;
    const bool is_normal = most.process && most.process->program->tool &&
                           book_.rules().is_normal(cause.code, *most.process->program->tool);
    FindingDraft draft = draft_of(cause.code, scope.figures, most.process);
    const std::uint64_t sure_ns = at_most[i] - std::min(at_most[i], unclear_ns(ledger) + pages_ns);
    draft.confidence = percent(sure_ns, scope.wall_ns) >= cause.least_percent ? "high" : "medium";
    draft.evidence = {figure("wait_ns", waits[i], "ns"), figure("wall_ns", scope.wall_ns, "ns"),
                      figure("percent", share, "percent")};
    if (most.process && most.wait_ns >= waits[i] / 2) {
      draft.evidence.push_back(words("program", most.process->program->tool.value_or("?")));
      if (i == kDisk && scope.work.disk) draft.evidence.push_back(words("device", *scope.work.disk));
    }
    if (waits[i] < at_most[i] - at_most[i] / 20) draft.evidence.push_back(words("at_least", "at least"));
    if (i == kDisk && pages_ns > 0) draft.evidence.push_back(figure("mapped_files_ns", pages_ns, "ns"));
    if (i == kThrottled && most.process && most.process->cgroup->id) {
      const std::uint64_t* const known = limit_millicpus_.find(*most.process->cgroup->id);
      if (known != nullptr) draft.evidence.push_back(words("limit_cpus", cpus_text(*known)));
    }
    const bool holds =
        !is_normal && scope.wall_ns >= cause.least_wall_ns && waits[i] >= cause.least_wait_ns && share >= least;
    decide(std::move(draft), holds, share * 100 < cause.least_percent * kStays_percent, scope);
  }
}

/// By what they had when they began; and, where they stand in line, by what those may use that do: a program may have
/// pinned its threads itself.
std::uint64_t SlownessFindings::millicpus_there(const Scope& scope, bool in_line_long) {
  Work& work = scope.work;
  if (in_line_long && read_cpus_ && !work.in_line.empty()) work.ready_cpus.merge(read_cpus_(work.in_line));
  work.in_line.clear();
  const std::uint64_t there = std::min(std::uint64_t{scope.figures.cpus} * 1000, host_millicpus());
  return work.ready_cpus.empty() ? there : std::min(there, std::uint64_t{work.ready_cpus.size()} * 1000);
}

/// By threads: a process of many threads hardly ever waits as a whole.
void SlownessFindings::look_at_queue(const Scope& scope) {
  const Work& work = scope.work;
  const std::uint64_t ready_ns = work.sums.cpu_ns + work.sums.queued_ns;
  const std::uint64_t share = percent(work.sums.queued_ns, ready_ns);
  const auto in_line_long = [&](std::string_view code) {
    return scope.wall_ns >= limit(code, "least_wall_ns") && work.sums.queued_ns >= limit(code, "least_queued_ns") &&
           share >= limit(code, "least_percent");
  };
  const std::uint64_t there = millicpus_there(scope, in_line_long("oversubscribed"));
  const bool pinned = !work.ready_cpus.empty() && work.ready_cpus.size() < scope.figures.cpus;
  const std::uint64_t wanted = millicpus(ready_ns, scope.wall_ns);
  const std::uint64_t got = millicpus(work.sums.cpu_ns, scope.wall_ns);
  const auto& requested = scope.figures.requested.millicpus;
  const auto more_than = [](std::uint64_t left, std::uint64_t right) {
    return left * 100 > right * kMoreThanThere_percent;
  };
  const auto got_most_of = [](std::uint64_t got_them, std::uint64_t cpus) {
    return got_them * 100 >= cpus * kGotThem_percent;
  };
  // Fewer than there are were its own: it used no more than these.
  const bool by_request = requested && *requested > 0 && *requested < there && more_than(wanted, *requested) &&
                          !more_than(got, *requested) && got_most_of(got, *requested);
  const bool by_itself = (more_than(wanted, there) && got_most_of(got, there)) || by_request;
  const Sums all{all_.cpu_ns - work.all_before.cpu_ns, all_.queued_ns - work.all_before.queued_ns};
  const std::uint64_t since_ns = scope.figures.now_ns - std::min(work.all_since_ns, scope.figures.now_ns);
  const std::uint64_t all_wanted = millicpus(all.cpu_ns + all.queued_ns, since_ns);
  const bool by_all =
      more_than(all_wanted, host_millicpus()) && got_most_of(millicpus(all.cpu_ns, since_ns), host_millicpus());
  for (const std::string_view code : {"oversubscribed", "cpu_contention"}) {
    const bool itself = code == "oversubscribed";
    FindingDraft draft = draft_of(code, scope.figures, work.most_threads.process);
    draft.evidence = {figure("queued_ns", work.sums.queued_ns, "ns"),
                      figure("cpu_ns", work.sums.cpu_ns, "ns"),
                      figure("wall_ns", scope.wall_ns, "ns"),
                      figure("percent", share, "percent"),
                      words("cpus", cpus_text(!itself      ? host_millicpus()
                                              : by_request ? *requested
                                                           : there)),
                      words("wanted_cpus", cpus_text((itself ? wanted : all_wanted) / 100 * 100))};
    if (!itself) draft.confidence = "medium";
    if (itself && work.most_threads.process && work.most_threads.wait_ns > 1) {
      draft.evidence.push_back(words("program", work.most_threads.process->program->tool.value_or("?")));
      draft.evidence.push_back(figure("threads", work.most_threads.wait_ns, "count"));
    }
    if (itself && pinned && !by_request) draft.evidence.push_back(words("pinned_to", cpu_list_text(work.ready_cpus)));
    const bool is_so = itself ? by_itself : !by_itself && by_all;
    const bool holds = is_so && in_line_long(code);
    decide(std::move(draft), holds, !is_so || share * 100 < limit(code, "least_percent") * kStays_percent, scope);
  }
}

/// Used several CPUs before, and now for a long time has wanted no more than one, whether or not it got that.
void SlownessFindings::look_at_usage(const Scope& scope) {
  Usage& usage = scope.work.usage;
  const std::uint64_t now_ns = scope.figures.now_ns;
  const std::uint64_t length_ns = now_ns - std::min(usage.from_ns, now_ns);
  if (length_ns < kWindow_ns && !scope.figures.finished) return;
  const Most busiest = usage.busiest;
  if (length_ns >= kWindow_ns || !usage.known) {
    const std::uint64_t used = millicpus(usage.cpu_ns, length_ns);
    const std::uint64_t wanted = millicpus(usage.cpu_ns + usage.queued_ns, length_ns);
    const bool serial = usage.known && wanted >= kSerialFrom_millicpus && wanted <= kSerialTo_millicpus;
    if (usage.known) usage.best_millicpus = std::max(usage.best_millicpus, used);
    usage.serial_since_ns = !serial ? 0 : usage.serial_since_ns != 0 ? usage.serial_since_ns : usage.from_ns;
    usage = {now_ns, 0, 0, true, usage.best_millicpus, usage.serial_since_ns, {}};
  }
  const std::uint64_t tail_ns = usage.serial_since_ns == 0 ? 0 : now_ns - std::min(usage.serial_since_ns, now_ns);
  const std::uint64_t share = percent(tail_ns, scope.wall_ns);
  FindingDraft draft = draft_of("serial_tail", scope.figures, busiest.process);
  draft.first_ns = usage.serial_since_ns == 0 ? scope.figures.now_ns : usage.serial_since_ns;
  draft.confidence = "medium";
  draft.evidence = {figure("tail_ns", tail_ns, "ns"), figure("wall_ns", scope.wall_ns, "ns"),
                    figure("percent", share, "percent"),
                    words("best_cpus", cpus_text(usage.best_millicpus / 100 * 100))};
  if (busiest.process) draft.evidence.push_back(words("program", busiest.process->program->tool.value_or("?")));
  if (scope.figures.requested.millicpus)
    draft.evidence.push_back(words("requested_cpus", cpus_text(*scope.figures.requested.millicpus)));
  // Where there are few CPUs, nearly all of them.
  const std::uint64_t nearly_all = scope.figures.cpus < 2
                                       ? limit(draft.code, "least_millicpus")
                                       : scope.figures.cpus * limit(draft.code, "least_percent_of_all") * 10;
  const bool holds = usage.best_millicpus >= std::min(limit(draft.code, "least_millicpus"), nearly_all) &&
                     tail_ns >= limit(draft.code, "least_tail_ns") && share >= limit(draft.code, "least_percent");
  decide(std::move(draft), holds, usage.serial_since_ns == 0, scope);
}

void SlownessFindings::look_at_short_lives(const Scope& scope) {
  const Work& work = scope.work;
  FindingDraft draft = draft_of("many_short_processes", scope.figures);
  const bool holds = scope.wall_ns >= limit(draft.code, "least_wall_ns") &&
                     work.short_lives >= limit(draft.code, "least_processes") &&
                     percent(work.short_ns, scope.wall_ns) >= limit(draft.code, "least_percent");
  if (!holds && !book_.is_open(draft)) return;
  draft.evidence = {figure("processes", work.short_lives, "count"),
                    figure("mean_life_ns", work.short_ns / std::max<std::uint64_t>(work.short_lives, 1), "ns"),
                    figure("short_lives_ns", work.short_ns, "ns"), figure("wall_ns", scope.wall_ns, "ns"),
                    figure("percent", std::min<std::uint64_t>(percent(work.short_ns, scope.wall_ns), 100), "percent")};
  const auto most = std::max_element(work.short_tools.begin(), work.short_tools.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != work.short_tools.end() && most->second * 2 >= work.short_lives) {
    draft.evidence.push_back(words("program", most->first));
    if (book_.rules().tries(most->first)) draft.severity = "note";
  }
  decide(std::move(draft), holds, false, scope);
}

/// The tasks of a run speak for it.
void SlownessFindings::look(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  Work* const work = works_.find(figures.id);
  if (work == nullptr || (figures.is_run && figures.by_tasks) || figures.now_ns <= figures.begin_ns) return;
  const Scope scope{figures, *work, time_ns, events, figures.now_ns - figures.begin_ns};
  look_at_waits(scope);
  look_at_queue(scope);
  look_at_usage(scope);
  look_at_short_lives(scope);
}

void SlownessFindings::scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  look(figures, time_ns, events);
}

void SlownessFindings::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  if (end.figures) look(*end.figures, end.time_ns, events);
  works_.erase(end.id);
}

}  // namespace tracer::internal
