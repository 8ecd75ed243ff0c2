// SPDX-License-Identifier: Apache-2.0
#include "insight/pipe_findings.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "insight/shares.hpp"
#include "state/process_spans.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kCode = "pipe_bottleneck";
/// Of one that lives.
constexpr std::uint64_t kBetweenLooks_ns = 10'000'000'000;

std::uint64_t whole_percent(double share) { return static_cast<std::uint64_t>(share * 100); }

struct OwnWait {
  std::string_view name;  ///< As Pipeline::bottleneck_waits_for.
  std::string_view words;
  std::string_view faster_by;
};
constexpr OwnWait kOwnWaits[] = {
    {"", "", "more threads"},
    {"network", "the network", "fetching its data before it starts, or from nearer by"},
    {"disk", "storage", "faster storage"},
    {"sleep", "time to pass: it sleeps", "waiting for the event itself instead of a fixed time"}};

}  // namespace

PipeFindings::PipeFindings(FindingBook& book)
    : book_(book),
      least_wall_ns_(book.rules().limit(kCode, "least_wall_ns")),
      least_waited_ns_(book.rules().limit(kCode, "least_waited_ns")),
      least_percent_(book.rules().limit(kCode, "least_percent")),
      works_(book) {}

void PipeFindings::saw(Work& work, const Process& process) {
  // An engine's own tee keeps what a task prints.
  if (process.context->engine_own) return;
  work.ended.saw(process, book_.is_own(process) ? process.program->tool : std::string(kAnothersProgram));
}

void PipeFindings::process_began(const std::shared_ptr<const Process>& process, std::uint64_t) {
  if (Work* work = works_.make(*process)) saw(*work, *process);
}

void PipeFindings::process_sampled(const ProcessSample& sample) {
  Work* work = works_.make(*sample.process);
  if (work == nullptr) return;
  const auto known = work->living.find(sample.process->pid);
  if (known == work->living.end()) {
    if (!works_.charge(*sample.process, (work->living.size() + 1) * kBytesOfLiving)) return;
    saw(*work, *sample.process);
  }
  work->living.insert_or_assign(sample.process->pid, pipe_use_of(sample));
}

void PipeFindings::process_ended(const ProcessExit& exit, std::vector<Event>&) {
  Work* work = works_.make(*exit.process);
  if (work == nullptr) return;
  saw(*work, *exit.process);
  work->ended.ended(pipe_use_of(exit));
  // Few live long enough for a sample.
  if (work->living.erase(exit.process->pid) != 0) works_.charge(*exit.process, work->living.size() * kBytesOfLiving);
}

void PipeFindings::look(const ScopeFigures& figures, const PipeGraph& graph, std::uint64_t time_ns,
                        std::vector<Event>& events) {
  const std::uint64_t wall_ns = figures.now_ns - std::min(figures.begin_ns, figures.now_ns);
  FindingDraft draft = draft_of(kCode, figures);
  // Those that waited longest come first.
  for (const Pipeline& pipe : graph.pipelines()) {
    const std::uint64_t share = whole_percent(pipe.others_share);
    if (pipe.bottleneck.empty() || share < least_percent_ || wall_ns < least_wall_ns_ ||
        pipe.waited_ns < std::max(least_waited_ns_, wall_ns / 100 * least_percent_))
      continue;
    std::string stages;
    for (const std::string& stage : pipe.stages) stages += (stages.empty() ? "" : " | ") + stage;
    draft.evidence = {words("bottleneck", pipe.bottleneck),
                      words("stages", stages),
                      figure("percent", share, "percent"),
                      figure("bottleneck_percent", whole_percent(pipe.bottleneck_share), "percent"),
                      figure("waited_ns", pipe.waited_ns, "ns"),
                      figure("wall_ns", wall_ns, "ns")};
    for (const OwnWait& wait : kOwnWaits) {
      if (wait.name != pipe.bottleneck_waits_for) continue;
      if (!wait.words.empty()) draft.evidence.push_back(words("waits_for", std::string(wait.words)));
      draft.evidence.push_back(words("faster_by", std::string(wait.faster_by)));
    }
    if (!draft.closed) draft.confidence = "medium";
    book_.report(draft, time_ns, events);
    return;
  }
  book_.close(kCode, draft.subject, *draft.context, nullptr, time_ns, events);
}

void PipeFindings::scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) {
  if (figures.is_run && figures.by_tasks) return;
  Work* const known = works_.find(figures.id);
  if (known == nullptr || figures.now_ns < figures.begin_ns + least_wall_ns_) return;
  Work& work = *known;
  if (figures.now_ns < work.looked_ns + kBetweenLooks_ns) return;
  work.looked_ns = figures.now_ns;
  const bool any_waits = std::any_of(work.living.begin(), work.living.end(),
                                     [this](const auto& each) { return each.second.pipe_ns >= least_waited_ns_; });
  if (!any_waits) return;
  PipeGraph graph = work.ended;
  for (const auto& [pid, use] : work.living) graph.ended(use);
  look(figures, graph, time_ns, events);
}

void PipeFindings::scope_ended(const ScopeEnd& end, std::vector<Event>& events) {
  const Work* const known = works_.find(end.id);
  if (known == nullptr) return;
  if (end.figures && !end.figures->by_tasks) look(*end.figures, known->ended, end.time_ns, events);
  works_.erase(end.id);
}

}  // namespace tracer::internal
