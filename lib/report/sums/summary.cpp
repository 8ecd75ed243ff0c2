// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include "base/sums.hpp"
#include "report/sums/cgroup_peaks.hpp"
#include "report/sums/ended_programs.hpp"
#include "report/sums/failures.hpp"
#include "report/sums/finding_list.hpp"
#include "report/sums/handed_over.hpp"
#include "report/sums/run_folder.hpp"
#include "report/sums/run_paths.hpp"
#include "report/sums/sums.hpp"
#include "report/sums/touched.hpp"
#include "report/sums/verdicts.hpp"
#include "state/failure_chains.hpp"
#include "state/pipe_graph.hpp"
#include "state/since_attach.hpp"

namespace tracer {
namespace {

bool all_ended(const SessionEnd& end) { return end.processes_started == end.processes_ended; }

}  // namespace

class Summary::Impl {
 public:
  Event add(const Event& whole);
  const internal::Sums& now() const;
  /// Nothing is missing of what has happened, so that upper bounds hold.
  bool whole() const { return end && losses.empty() && !end->missed_at_most; }
  std::vector<Survivor> survivors() const;
  SummaryRow total() const;

  internal::PipeGraph pipes;
  internal::Book book{std::make_shared<internal::Accounts>(),
                      {},
                      internal::Book::kMostBytesOfRecording,
                      internal::Book::kMostBytesOfRecording};
  internal::RunPaths paths{book};
  const internal::TasksCount tasks_count = [this](const auto& run) { return paths.tasks_count(run); };
  internal::FindingList findings;
  internal::CgroupPeaks cgroups;
  internal::Touched touched;
  internal::Failures failures;
  internal::Verdicts verdicts;
  Excused excused;
  internal::SinceAttach since_attach;
  internal::HandedOver handed_over;
  internal::RunFolder folder;
  std::set<std::string> instance_types;
  std::uint64_t exits = 0;
  std::map<std::string, std::uint64_t> losses;
  std::optional<SessionEnd> end;

 private:
  void add_exec(const ProcessExec& exec);
  void add_exit(const ProcessExit& exit);
  void task_finished(const TaskFinish& finish);
  void run_finished(const RunFinish& finish);
  void decide(const internal::FailureOrigin& failure, internal::Verdict verdict);
  void add_own_work(const OwnWork& work);
  void begin_snapshot(std::uint64_t time_ns);
  void end_round();
  bool is_own(const Process& process) const { return own_processes_.contains(internal::id_of(process)); }

  internal::FailureChains chains_{[this](const auto& failure, auto verdict) { decide(failure, verdict); }};
  internal::Sums sums_;
  mutable std::optional<internal::Sums> with_living_;  ///< Made when it is asked for.
  internal::EndedPrograms ended_programs_;
  std::set<internal::ProcessId> own_processes_;    ///< Whose work was reported.
  std::map<std::uint32_t, ProcessSample> living_;  ///< By pid; of the last snapshot.
  std::vector<ToolSample> living_folded_;          ///< Likewise.
  std::optional<RunFinish> last_run_;              ///< Of which the ledger is known.
  std::optional<TaskFinish> last_task_;
  std::uint64_t snapshot_ns_ = 0;
  std::vector<internal::GroupMemory*> in_snapshot_;  ///< In sums_.
};

void Summary::Impl::add_exec(const ProcessExec& exec) {
  const Process& process = *exec.process;
  if (!process.context->engine_own) pipes.saw(process);
  sums_.ended(exec);
  ended_programs_.saw(exec);
  handed_over.saw(process);
}

void Summary::Impl::add_exit(const ProcessExit& exit) {
  ++exits;
  living_.erase(exit.process->pid);
  const auto joined = ended_programs_.joined(exit);
  ended_programs_.saw(exit);
  const bool own = exit.process->context->engine_own;
  if (!own) pipes.ended(exit);
  sums_.ended(exit);
  if (joined) sums_.joined(exit, *joined);
  chains_.ended(exit, own);
}

void Summary::Impl::decide(const internal::FailureOrigin& failure, internal::Verdict verdict) {
  switch (verdict) {
    case internal::Verdict::kFailed:
      sums_.failed(failure);
      failures.add(failure);
      break;
    case internal::Verdict::kPassedOn:
    case internal::Verdict::kIgnored: failures.resolve(failure, verdict); break;
    case internal::Verdict::kPassing: break;
    case internal::Verdict::kReaderHadEnough: ++excused.reader_had_enough; break;
    case internal::Verdict::kEndedByItsStarter: ++excused.ended_by_starter; break;
  }
}

void Summary::Impl::task_finished(const TaskFinish& finish) {
  book.finished(*finish.context, false);
  if (!internal::is_within_others(finish.totals.processes, sums_.is_seen(finish.context))) verdicts.add(finish);
  if (finish.context->attempt.value_or(1) > 1)
    failures.retried([this](const Context& task) { return verdicts.succeeded_later(task); });
}

void Summary::Impl::run_finished(const RunFinish& finish) {
  sums_.run_finished(*finish.context);
  if (!finish.task_ledger) return;
  sums_.spent(finish.context, SummaryLevel::kRun, *finish.task_ledger);
  last_run_ = finish;
}

/// A run or task that everything belongs to is all of the session.
SummaryRow Summary::Impl::total() const {
  SummaryRow row = now().total(whole());
  if (row.living != 0) return row;
  if (last_run_ && last_run_->totals.processes == row.processes) {
    row.task_ledger = last_run_->task_ledger;
  } else if (last_task_ && last_task_->totals.processes == row.processes) {
    row.task_ledger = last_task_->task_ledger;
  }
  return row;
}

void Summary::Impl::add_own_work(const OwnWork& work) {
  if (own_processes_.insert(internal::id_of(*work.process)).second) sums_.counts_apart(*work.process);
  sums_.worked(work);
}

Event Summary::Impl::add(const Event& whole) {
  Event event = since_attach.of(whole);
  with_living_.reset();
  if (const auto* change = event.get_if<ContextChange>()) book.saw(*change), sums_.changed(*change);
  paths.add(event);
  folder.add(event);
  if (const auto* finish = event.get_if<TaskFinish>()) task_finished(*finish);
  if (const auto* finish = event.get_if<RunFinish>()) {
    book.finished(*finish->context, true);
    verdicts.add(*finish);
  }
  if (const auto* start = event.get_if<ProcessStart>()) {
    chains_.saw(start->process);
  } else if (const auto* exec = event.get_if<ProcessExec>()) {
    chains_.saw(exec->process);
    add_exec(*exec);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    add_exit(*exit);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    begin_snapshot(sample->time_ns);
    living_.insert_or_assign(sample->process->pid, *sample);
    sums_.holds(*sample, is_own(*sample->process), in_snapshot_);
  } else if (const auto* folded = event.get_if<ToolSample>()) {
    begin_snapshot(folded->time_ns);
    living_folded_.push_back(*folded);
    sums_.hold(*folded, in_snapshot_);
  } else if (const auto* run = event.get_if<RunStart>()) {
    chains_.leads(run->pid, run->start_ns, *run->context);
  } else if (const auto* over = event.get_if<RunFinish>()) {
    run_finished(*over);
  } else if (const auto* work = event.get_if<OwnWork>()) {
    add_own_work(*work);
  } else if (const auto* task = event.get_if<TaskStart>()) {
    chains_.leads(task->pid, task->start_ns, *task->context);
    sums_.started(*task);
  } else if (const auto* submit = event.get_if<TaskSubmit>(); submit != nullptr && submit->context->task_key) {
    verdicts.add(*submit);
    sums_.submitted(*submit);
  } else if (const auto* finish = event.get_if<TaskFinish>()) {
    sums_.request(finish->context, finish->requested);
    if (finish->task_ledger) {
      sums_.spent(finish->context, SummaryLevel::kTask, *finish->task_ledger, finish->waits_for);
      last_task_ = *finish;
    }
  } else if (const auto* cgroup = event.get_if<CgroupSample>()) {
    cgroups.add(*cgroup);
  } else if (const auto* use = event.get_if<FileUse>()) {
    touched.add(*use);
  } else if (const auto* connection = event.get_if<Connection>()) {
    touched.add(*connection);
  } else if (const auto* device = event.get_if<DeviceSample>()) {
    touched.add(*device);
  } else if (const auto* gpu = event.get_if<GpuSample>()) {
    touched.add(*gpu);
  } else if (const auto* host = event.get_if<HostSample>()) {
    if (host->instance_type && instance_types.size() < kMostInstanceTypes) instance_types.insert(*host->instance_type);
  } else if (const auto* finding = event.get_if<Finding>()) {
    findings.add(*finding);
  } else if (const auto* snapshot = event.get_if<SnapshotEnd>()) {
    begin_snapshot(snapshot->time_ns);
    end_round();
    touched.end_snapshot(snapshot->time_ns);
  } else if (const auto* loss = event.get_if<Loss>()) {
    losses[loss->cause] += loss->count;
  } else if (const auto* last = event.get_if<SessionEnd>()) {
    end = *last;
    chains_.finish(last->time_ns);
    if (all_ended(*last)) living_.clear(), living_folded_.clear();
  }
  // What a snapshot has begun to add up must stay where it is until its end.
  if (in_snapshot_.empty()) sums_.fold_finished_runs();
  return event;
}

/// Each snapshot names all that live: who is not in it has ended, even if that was lost.
void Summary::Impl::begin_snapshot(std::uint64_t time_ns) {
  if (snapshot_ns_ == time_ns) return;
  end_round();
  snapshot_ns_ = time_ns;
  if (ended_programs_.full() && living_folded_.empty())
    ended_programs_.keep_if([this](const internal::ProcessId& id) { return living_.contains(id.pid); });
  living_.clear();
  living_folded_.clear();
}

void Summary::Impl::end_round() {
  for (internal::GroupMemory* memory : in_snapshot_) memory->end_snapshot();
  in_snapshot_.clear();
}

/// With what lives, as far as its last sample saw it.
const internal::Sums& Summary::Impl::now() const {
  if (living_.empty() && living_folded_.empty()) return sums_;
  if (with_living_) return *with_living_;
  with_living_.emplace(sums_);
  // What the session's own process did so far was reported.
  for (const auto& [pid, sample] : living_)
    if (!is_own(*sample.process))
      with_living_->lives(sample, ended_programs_.living(sample), ended_programs_.begin_of(sample));
  for (const ToolSample& folded : living_folded_) with_living_->live(folded);
  return *with_living_;
}

std::vector<Survivor> Summary::Impl::survivors() const {
  std::vector<Survivor> all;
  // What the session's own process did so far has a row.
  for (const auto& [pid, sample] : living_)
    if (!is_own(*sample.process)) all.push_back({sample, ended_programs_.begin_of(sample)});
  return all;
}

Summary::Summary() : impl_(std::make_unique<Impl>()) {}
Summary::~Summary() = default;
Summary::Summary(Summary&&) noexcept = default;
Summary& Summary::operator=(Summary&&) noexcept = default;

Event Summary::add(const Event& event) { return impl_->add(event); }
std::vector<SummaryRow> Summary::by_tool() const { return impl_->now().by_tool(impl_->whole()); }
std::vector<SummaryRow> Summary::by_step() const { return impl_->now().by_step(impl_->whole(), impl_->tasks_count); }
std::vector<SummaryRow> Summary::by_task() const { return impl_->now().by_task(impl_->whole(), impl_->tasks_count); }
std::vector<SummaryRow> Summary::by_sample() const { return impl_->now().by_sample(impl_->whole()); }
std::vector<SummaryNode> Summary::tree() const { return impl_->now().tree(impl_->whole(), impl_->tasks_count); }
std::vector<SummaryRow> Summary::largest_processes() const { return impl_->now().largest_processes(); }
SummaryRow Summary::total() const { return impl_->total(); }
std::string Summary::verdict() const { return impl_->verdicts.text(impl_->findings.ranked()); }
std::vector<Finding> Summary::findings() const { return impl_->findings.ranked(); }
const std::vector<Failure>& Summary::failures() const noexcept { return impl_->failures.different(); }
std::uint64_t Summary::failed() const noexcept { return impl_->failures.count(); }
const Excused& Summary::excused() const noexcept { return impl_->excused; }
std::vector<Survivor> Summary::survivors() const { return impl_->survivors(); }
std::vector<CriticalPath> Summary::critical_paths() const { return impl_->paths.paths(); }
std::vector<Pipeline> Summary::pipelines() const { return impl_->pipes.pipelines(); }
std::vector<CgroupMemory> Summary::cgroups() const { return impl_->cgroups.largest_first(); }
std::vector<BusyFile> Summary::files() const { return impl_->touched.files(); }
std::vector<BusyFileSystem> Summary::file_systems() const { return impl_->touched.file_systems(); }
std::string Summary::folder() const { return impl_->folder.path(); }
std::vector<BusyPeer> Summary::peers() const { return impl_->touched.peers(); }
std::vector<BusyDevice> Summary::devices() const { return impl_->touched.devices(); }
std::vector<BusyGpu> Summary::gpus() const { return impl_->touched.gpus(); }
std::vector<std::string> Summary::instance_types() const {
  return {impl_->instance_types.begin(), impl_->instance_types.end()};
}
std::uint64_t Summary::attached() const noexcept { return impl_->since_attach.processes(); }
std::uint64_t Summary::cpu_before_ns() const noexcept { return impl_->since_attach.cpu_before_ns(); }
std::map<std::string, std::uint64_t> Summary::handed_over() const { return impl_->handed_over.calls(); }
std::uint64_t Summary::exits() const noexcept { return impl_->exits; }
const std::map<std::string, std::uint64_t>& Summary::losses() const noexcept { return impl_->losses; }
const std::optional<SessionEnd>& Summary::end() const noexcept { return impl_->end; }

}  // namespace tracer
