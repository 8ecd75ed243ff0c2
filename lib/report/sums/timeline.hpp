// SPDX-License-Identifier: Apache-2.0
/// Tools and tasks over time, from samples and ends of processes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include <tracer/event.hpp>

#include "base/process_id.hpp"
#include "report/sums/time_series.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {

/// Memory: of the snapshots all that live together; of a process that no snapshot has seen, its own peak as long as it
/// lived. CPU time is spread evenly between two samples of a process, and to its end.
class Timeline {
 public:
  void add(const Event& event);

  const TimeSeries& tools() const noexcept { return tools_; }
  const TimeSeries& tasks() const noexcept { return tasks_; }  ///< Empty: nothing belongs to any.

 private:
  struct Living {
    std::uint64_t ended_programs_cpu_ns = 0;
    std::uint64_t counted_cpu_ns = 0;    ///< That is in the series.
    std::uint64_t counted_until_ns = 0;  ///< 0: nothing is.
    bool sampled = false;
    std::uint64_t snapshot_ns = 0;  ///< The last that has seen it.
  };
  struct Task {
    std::shared_ptr<const Context> context;  ///< Keeps the address its own.
    std::string key;                         ///< Empty: no task.
    std::string name;
  };
  struct Held {
    std::string name;
    HeldMemory memory;
  };

  void sampled(const ProcessSample& sample);
  void folded(const ToolSample& sample);
  void program_ended(const Process& process, const ProgramAccount& program, bool last, std::uint64_t process_cpu_ns);
  template <class Sample>
  void hold(const Sample& sample, const std::string& tool, const Task& task);
  void end_snapshot(std::uint64_t time_ns);
  void use(const std::string& tool, const Task& task, std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t cpu_ns);
  const Task& task_of(const std::shared_ptr<const Context>& context);

  TimeSeries tools_;
  TimeSeries tasks_;
  std::map<ProcessId, Living, ByPid> living_;
  std::unordered_map<const Context*, Task> known_tasks_;
  std::map<std::string, Held> held_by_tool_;  ///< In the snapshot that is being read; by key.
  std::map<std::string, Held> held_by_task_;
  std::uint64_t snapshot_ns_ = 0;
};

}  // namespace tracer::internal
