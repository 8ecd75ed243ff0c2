// SPDX-License-Identifier: Apache-2.0
#include "report/sums/over_time.hpp"

#include <algorithm>
#include <utility>

#include "base/sums.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostLiving = 65536;
const std::string kWhole;

}  // namespace

const std::array<OverTime::Amount, OverTime::kAmounts> OverTime::kOf = {{
    {&Series::cpu_ns, [](const Account& account) { return least_cpu_ns(account); }},
    {&Series::read_bytes, [](const Account& account) { return account.read_bytes; }},
    {&Series::written_bytes, [](const Account& account) { return account.written_bytes; }},
    {&Series::received_bytes, [](const Account& account) { return account.network_received_bytes; }},
    {&Series::sent_bytes, [](const Account& account) { return account.network_sent_bytes; }},
    {&Series::io_wait_ns,
     [](const Account& account) { return account.ledger ? std::optional(account.ledger->disk_ns) : std::nullopt; }},
}};

std::vector<std::string> OverTime::rows_of(const Context& context) {
  if (!context.step || context.step->empty()) return {kWhole};
  return {kWhole, *context.step};
}

bool OverTime::is_in(const Context& context) {
  if (!is_asked_ && context.run_key && context.run_key != key_) {
    // What belongs to no run is none of its.
    OverTime of_run(context.run_key);
    of_run.is_asked_ = false;
    of_run.has_several_runs_ = key_.has_value();
    of_run.snapshot_ns_ = snapshot_ns_;
    *this = std::move(of_run);
  }
  return context.run_key == key_ || (key_ && context.task_key == key_);
}

void OverTime::add(const Event& event) {
  if (has_several_runs_) return;
  if (!key_) series_.begin(event.time_ns());
  last_ns_ = std::max(last_ns_, event.time_ns());
  if (const auto* run = event.get_if<RunStart>()) {
    if (is_in(*run->context)) series_.begin(run->start_ns);
  } else if (const auto* start = event.get_if<TaskStart>()) {
    if (!is_in(*start->context)) return;
    series_.begin(start->start_ns);
    runs(*start->context, start->start_ns, true);
  } else if (const auto* finish = event.get_if<TaskFinish>()) {
    if (is_in(*finish->context)) runs(*finish->context, finish->time_ns, false);
  } else if (const auto* met = event.get_if<ProcessStart>()) {
    // Its figures begin there, also those of a command that was held until then.
    if (met->attached_ns && living_.size() < kMostLiving) {
      Counted& counted = living_[met->process->pid];
      counted = {id_of(*met->process)};
      counted.until_ns = *met->attached_ns;
    }
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    if (is_in(*exit->process->context)) exited(*exit);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    if (sample->time_ns != snapshot_ns_) end_snapshot();
    snapshot_ns_ = sample->time_ns;
    if (is_in(*sample->process->context)) sampled(*sample);
  } else if (const auto* folded = event.get_if<ToolSample>()) {
    if (folded->time_ns != snapshot_ns_) end_snapshot();
    snapshot_ns_ = folded->time_ns;
    if (is_in(*folded->context)) hold(*folded, *folded->context);
  } else if (event.get_if<SnapshotEnd>() != nullptr || event.get_if<SessionEnd>() != nullptr) {
    end_snapshot();
  }
}

template <class E>
void OverTime::count(const E& event, Counted& counted) {
  const Process& process = *event.process;
  const std::uint64_t time_ns = event.time_ns;
  const std::uint64_t from_ns = counted.until_ns != 0 ? counted.until_ns : event.attached_ns.value_or(process.start_ns);
  if (from_ns > time_ns) return;
  for (std::size_t i = 0; i < kAmounts; ++i) {
    const auto amount = kOf[i].of(event.account);
    if (!amount) continue;
    const std::uint64_t more = *amount - std::min(*amount, counted.amounts[i]);
    for (const std::string& row : rows_of(*process.context)) {
      if (kOf[i].kind == &Series::cpu_ns) {
        series_.use(row, row, from_ns, time_ns, more);
      } else {
        series_.spread(row, kOf[i].kind, from_ns, time_ns, more);
      }
    }
    counted.amounts[i] = std::max(*amount, counted.amounts[i]);
  }
  counted.until_ns = time_ns;
}

void OverTime::sampled(const ProcessSample& sample) {
  const Process& process = *sample.process;
  hold(sample, *process.context);
  const auto known = living_.find(process.pid);
  if (known == living_.end() && living_.size() >= kMostLiving) return;
  Counted& counted = living_[process.pid];
  if (counted.id != id_of(process)) counted = {id_of(process)};
  counted.sampled = true;
  count(sample, counted);
}

void OverTime::exited(const ProcessExit& exit) {
  const Process& process = *exit.process;
  Counted counted;
  if (const auto known = living_.find(process.pid); known != living_.end()) {
    if (known->second.id == id_of(process)) counted = known->second;
    living_.erase(known);
  }
  count(exit, counted);
  if (counted.sampled || !exit.program.account.peak_rss_bytes || !exit.program.start_ns) return;
  for (const std::string& row : rows_of(*process.context))
    series_.hold(row, row, *exit.program.start_ns, exit.time_ns, *exit.program.account.peak_rss_bytes);
}

template <class Sample>
void OverTime::hold(const Sample& sample, const Context& context) {
  for (const std::string& row : rows_of(context)) held_[row].add(sample);
}

void OverTime::end_snapshot() {
  if (snapshot_ns_ == 0) return;
  for (const auto& [row, memory] : held_)
    if (const auto bytes = memory.bytes()) series_.hold(row, row, snapshot_ns_, snapshot_ns_, *bytes);
  if (!held_.empty()) series_.snapshot(snapshot_ns_);
  held_.clear();
  snapshot_ns_ = 0;
}

void OverTime::runs(const Context& context, std::uint64_t time_ns, bool begins) {
  if (!context.task_key) return;
  for (const std::string& row : rows_of(context)) {
    Running& running = running_[row];
    // One that is joined again runs already.
    if (running.tasks.contains(*context.task_key) == begins) continue;
    if (!running.tasks.empty())
      series_.hold(row, row, running.since_ns, std::max(time_ns, running.since_ns), running.tasks.size(),
                   &Series::tasks);
    begins ? static_cast<void>(running.tasks.insert(*context.task_key))
           : static_cast<void>(running.tasks.erase(*context.task_key));
    running.since_ns = std::max(time_ns, running.since_ns);
  }
}

ResourcesOverTime OverTime::sums() {
  if (has_several_runs_) return {};
  end_snapshot();
  for (auto& [row, running] : running_) {
    if (running.tasks.empty()) continue;
    series_.hold(row, row, running.since_ns, std::max(last_ns_, running.since_ns), running.tasks.size(),
                 &Series::tasks);
    running.since_ns = std::max(last_ns_, running.since_ns);
  }
  std::vector<Series> rows = series_.rows(TimeSeries::kMostRows);
  // Steps beyond the bound are in the whole.
  while (rows.size() > 1 && rows.back().name.empty()) rows.pop_back();
  for (Series& row : rows)
    for (const Amount& amount : kOf)
      if (auto& values = row.*amount.kind; !values.empty()) values.resize(series_.parts());
  return {series_.begin_ns(), series_.part_ns(), series_.parts(), std::move(rows)};
}

}  // namespace tracer::internal
