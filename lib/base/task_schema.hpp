// SPDX-License-Identifier: Apache-2.0
/// The fields of runs and tasks. The rules are in event_schema.hpp.
#pragma once

#include <tracer/task.hpp>

#include "base/process_schema.hpp"

namespace tracer::internal {

template <>
struct Schema<FailedProcess> {
  static constexpr auto fields = std::tuple(
      field(1, "pid", &FailedProcess::pid), field(2, "tool", &FailedProcess::tool),
      field(3, "exit_code", &FailedProcess::exit_code), field(4, "exit_signal", &FailedProcess::exit_signal));
};

template <>
struct Schema<AwaitedTask> {
  static constexpr auto fields =
      std::tuple(field(1, "task_key", &AwaitedTask::task_key), field(2, "name", &AwaitedTask::name),
                 field(3, "wait_ns", &AwaitedTask::wait_ns, Unit::kNs), field(4, "cause", &AwaitedTask::cause));
};

template <>
struct Schema<TaskTotals> {
  static constexpr auto fields =
      std::tuple(field(1, "processes", &TaskTotals::processes, Unit::kCount),
                 field(2, "engine_processes", &TaskTotals::engine_processes, Unit::kCount),
                 field(3, "failed", &TaskTotals::failed, Unit::kCount),
                 group(4, "failures", &TaskTotals::failures, Shape::kNested),
                 field(5, "engine_cpu_ns", &TaskTotals::engine_cpu_ns, Unit::kNs),
                 field(6, "peak_bytes", &TaskTotals::peak_bytes, Unit::kBytes),
                 group(7, "account", &TaskTotals::account, Shape::kFlat),
                 field(8, "own_cpu_ns", &TaskTotals::own_cpu_ns, Unit::kNs),
                 field(9, "peak_at_least_bytes", &TaskTotals::peak_at_least_bytes, Unit::kBytes),
                 field(10, "peak_at_most_bytes", &TaskTotals::peak_at_most_bytes, Unit::kBytes));
};

template <>
struct Schema<Requested> {
  static constexpr auto fields =
      std::tuple(field(1, "millicpus", &Requested::millicpus, Unit::kCount),
                 field(2, "memory_bytes", &Requested::memory_bytes, Unit::kBytes),
                 field(3, "time_ns", &Requested::time_ns, Unit::kNs), field(4, "container", &Requested::container),
                 field(5, "tag", &Requested::tag));
};

template <>
struct Schema<RunStart> {
  static constexpr std::string_view kName = "run_start";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &RunStart::time_ns, Unit::kNs), group(2, "context", &RunStart::context, Shape::kNested),
      field(3, "pid", &RunStart::pid), field(4, "start_ns", &RunStart::start_ns, Unit::kNs));
};

template <>
struct Schema<RunFinish> {
  static constexpr std::string_view kName = "run_finish";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &RunFinish::time_ns, Unit::kNs), group(2, "context", &RunFinish::context, Shape::kNested),
      field(3, "pid", &RunFinish::pid), field(4, "start_ns", &RunFinish::start_ns, Unit::kNs),
      field(5, "end_ns", &RunFinish::end_ns, Unit::kNs), field(6, "exit_code", &RunFinish::exit_code),
      field(7, "exit_signal", &RunFinish::exit_signal), group(8, "totals", &RunFinish::totals, Shape::kFlat),
      field(9, "tasks", &RunFinish::tasks, Unit::kCount),
      field(10, "failed_tasks", &RunFinish::failed_tasks, Unit::kCount),
      field(11, "begin_ns", &RunFinish::begin_ns, Unit::kNs),
      group(12, "task_ledger", &RunFinish::task_ledger, Shape::kNested),
      field(13, "without_task_ns", &RunFinish::without_task_ns, Unit::kNs));
};

template <>
struct Schema<TaskStart> {
  static constexpr std::string_view kName = "task_start";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &TaskStart::time_ns, Unit::kNs), group(2, "context", &TaskStart::context, Shape::kNested),
      field(3, "pid", &TaskStart::pid), field(4, "start_ns", &TaskStart::start_ns, Unit::kNs),
      group(5, "requested", &TaskStart::requested, Shape::kNested),
      field(6, "submitted_ns", &TaskStart::submitted_ns, Unit::kNs));
};

template <>
struct Schema<ExpectedTasks> {
  static constexpr auto fields =
      std::tuple(field(1, "step", &ExpectedTasks::step), field(2, "tasks", &ExpectedTasks::tasks, Unit::kCount));
};

template <>
struct Schema<TaskSubmit> {
  static constexpr std::string_view kName = "task_submit";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &TaskSubmit::time_ns, Unit::kNs), group(2, "context", &TaskSubmit::context, Shape::kNested),
      field(3, "state", &TaskSubmit::state), field(4, "submitted_ns", &TaskSubmit::submitted_ns, Unit::kNs),
      field(5, "outcome", &TaskSubmit::outcome), field(6, "exit_code", &TaskSubmit::exit_code),
      group(7, "requested", &TaskSubmit::requested, Shape::kNested),
      group(8, "expected", &TaskSubmit::expected, Shape::kNested));
};

template <>
struct Schema<TaskFinish> {
  static constexpr std::string_view kName = "task_finish";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &TaskFinish::time_ns, Unit::kNs), group(2, "context", &TaskFinish::context, Shape::kNested),
      field(3, "pid", &TaskFinish::pid), field(4, "start_ns", &TaskFinish::start_ns, Unit::kNs),
      field(5, "end_ns", &TaskFinish::end_ns, Unit::kNs), field(6, "exit_code", &TaskFinish::exit_code),
      field(7, "exit_signal", &TaskFinish::exit_signal), group(8, "totals", &TaskFinish::totals, Shape::kFlat),
      group(9, "requested", &TaskFinish::requested, Shape::kNested),
      field(10, "begin_ns", &TaskFinish::begin_ns, Unit::kNs),
      group(11, "task_ledger", &TaskFinish::task_ledger, Shape::kNested),
      group(12, "waits_for", &TaskFinish::waits_for, Shape::kNested));
};

template <>
struct Schema<ContextChange> {
  static constexpr std::string_view kName = "context_change";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &ContextChange::time_ns, Unit::kNs),
      group(2, "before", &ContextChange::before, Shape::kNested),
      group(3, "after", &ContextChange::after, Shape::kNested), field(4, "pid", &ContextChange::pid),
      field(5, "start_ns", &ContextChange::start_ns, Unit::kNs), field(6, "old_run_key", &ContextChange::old_run_key),
      field(7, "old_task_key", &ContextChange::old_task_key));
};

}  // namespace tracer::internal
