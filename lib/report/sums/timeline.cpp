// SPDX-License-Identifier: Apache-2.0
#include "report/sums/timeline.hpp"

#include <algorithm>
#include <optional>

#include "base/sums.hpp"
#include "context/layers.hpp"
#include "context/task_name.hpp"
#include "report/sums/task_tree.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostLiving = 65536;
constexpr std::size_t kMostKnownTasks = 4096;

std::string tool_name(const Context& context, const std::shared_ptr<const Program>& program) {
  ProgramAccount account;
  account.program = program;
  account.engine_own = context.engine_own;
  return counted_as(context, account);
}

}  // namespace

void Timeline::add(const Event& event) {
  if (event.kind() == EventKind::kNone) return;
  tools_.begin(event.time_ns());
  tasks_.begin(tools_.begin_ns());
  if (const auto* exec = event.get_if<ProcessExec>()) {
    // A command that was held until now has not lived before.
    if (!exec->ended.start_ns) living_[id_of(*exec->process)].counted_until_ns = exec->time_ns;
    program_ended(*exec->process, exec->ended, false, 0);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    program_ended(*exit->process, exit->program, true, least_cpu_ns(exit->account).value_or(0));
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    sampled(*sample);
  } else if (const auto* folded_sample = event.get_if<ToolSample>()) {
    folded(*folded_sample);
  } else if (event.get_if<SnapshotEnd>() != nullptr || event.get_if<SessionEnd>() != nullptr) {
    end_snapshot(event.time_ns());
  }
}

const Timeline::Task& Timeline::task_of(const std::shared_ptr<const Context>& context) {
  const auto known = known_tasks_.find(context.get());
  if (known != known_tasks_.end()) return known->second;
  if (known_tasks_.size() >= kMostKnownTasks) known_tasks_.clear();
  Task task{context, {}, {}};
  if (is_task(*context) || context->step) {
    const Context identity = identity_of(*context);
    task.name = task_name(identity);
    task.key = run_key(identity) + '\n' + identity.step.value_or("") + '\n' + identity.task_id.value_or(task.name) +
               '\n' + std::to_string(identity.attempt.value_or(1));
  }
  return known_tasks_.emplace(context.get(), std::move(task)).first->second;
}

void Timeline::use(const std::string& tool, const Task& task, std::uint64_t from_ns, std::uint64_t to_ns,
                   std::uint64_t cpu_ns) {
  tools_.use(tool, tool, from_ns, to_ns, cpu_ns);
  if (!task.key.empty()) tasks_.use(task.key, task.name, from_ns, to_ns, cpu_ns);
}

void Timeline::sampled(const ProcessSample& sample) {
  if (sample.time_ns != snapshot_ns_) end_snapshot(snapshot_ns_);
  snapshot_ns_ = sample.time_ns;
  const Process& process = *sample.process;
  const std::string tool = tool_name(*process.context, process.program);
  const Task& task = task_of(process.context);
  hold(sample, tool, task);
  const ProcessId identity = id_of(process);
  if (!living_.contains(identity) && living_.size() >= kMostLiving) return;
  Living& living = living_[identity];
  living.sampled = true;
  living.snapshot_ns = sample.time_ns;
  const std::uint64_t from_ns =
      living.counted_until_ns != 0 ? living.counted_until_ns : sample.attached_ns.value_or(process.start_ns);
  if (from_ns > sample.time_ns) return;
  const std::uint64_t cpu_ns = std::max(sample.account.cpu_ns.value_or(0), living.counted_cpu_ns);
  use(tool, task, from_ns, sample.time_ns, cpu_ns - living.counted_cpu_ns);
  living.counted_cpu_ns = cpu_ns;
  living.counted_until_ns = sample.time_ns;
}

void Timeline::folded(const ToolSample& sample) {
  if (sample.time_ns != snapshot_ns_) end_snapshot(snapshot_ns_);
  snapshot_ns_ = sample.time_ns;
  auto program = std::make_shared<Program>();
  program->tool = sample.tool;
  hold(sample, tool_name(*sample.context, program), task_of(sample.context));
}

template <class Sample>
void Timeline::hold(const Sample& sample, const std::string& tool, const Task& task) {
  const auto add = [&sample](Held& held, const std::string& name) {
    held.name = name;
    held.memory.add(sample);
  };
  add(held_by_tool_[tool], tool);
  if (!task.key.empty()) add(held_by_task_[task.key], task.name);
}

void Timeline::end_snapshot(std::uint64_t time_ns) {
  if (snapshot_ns_ == 0) return;
  const auto note = [this](TimeSeries& series, const std::map<std::string, Held>& all) {
    for (const auto& [key, held] : all)
      if (const auto bytes = held.memory.bytes()) series.hold(key, held.name, snapshot_ns_, snapshot_ns_, *bytes);
  };
  note(tools_, held_by_tool_);
  note(tasks_, held_by_task_);
  held_by_tool_.clear();
  held_by_task_.clear();
  tools_.snapshot(snapshot_ns_);
  tasks_.snapshot(snapshot_ns_);
  // A snapshot names all that live: the ends of the others were lost.
  if (living_.size() >= kMostLiving)
    std::erase_if(living_, [&](const auto& each) { return each.second.snapshot_ns < time_ns; });
  snapshot_ns_ = 0;
}

void Timeline::program_ended(const Process& process, const ProgramAccount& program, bool last,
                             std::uint64_t process_cpu_ns) {
  const ProcessId identity = id_of(process);
  const auto known = living_.find(identity);
  Living living = known == living_.end() ? Living{} : known->second;
  const std::uint64_t own_cpu_ns = least_cpu_ns(program.account).value_or(0);
  const std::uint64_t all_cpu_ns =
      last && living.sampled ? std::max(process_cpu_ns, own_cpu_ns) : living.ended_programs_cpu_ns + own_cpu_ns;
  if (program.start_ns && program.end_ns && *program.end_ns >= *program.start_ns) {
    const std::string tool = counted_as(*process.context, program);
    const Task& task = task_of(process.context);
    const std::uint64_t from_ns = std::min(std::max(*program.start_ns, living.counted_until_ns), *program.end_ns);
    use(tool, task, from_ns, *program.end_ns, all_cpu_ns - std::min(all_cpu_ns, living.counted_cpu_ns));
    if (!living.sampled && program.account.peak_rss_bytes) {
      tools_.hold(tool, tool, *program.start_ns, *program.end_ns, *program.account.peak_rss_bytes);
      if (!task.key.empty())
        tasks_.hold(task.key, task.name, *program.start_ns, *program.end_ns, *program.account.peak_rss_bytes);
    }
    living.counted_until_ns = *program.end_ns;
    living.counted_cpu_ns = std::max(living.counted_cpu_ns, all_cpu_ns);
  }
  living.ended_programs_cpu_ns += own_cpu_ns;
  if (last) {
    if (known != living_.end()) living_.erase(known);
  } else if (known != living_.end() || living_.size() < kMostLiving) {
    living_.insert_or_assign(identity, living);
  }
}

}  // namespace tracer::internal
