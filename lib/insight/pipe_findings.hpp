// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>

#include "insight/detector.hpp"
#include "insight/works.hpp"
#include "state/pipe_graph.hpp"

namespace tracer::internal {

/// Findings about the stage of a pipe that the others wait for, in a task, or a run without tasks. Bounded: as Works.
class PipeFindings : public Detector {
 public:
  explicit PipeFindings(FindingBook& book);

  void process_began(const std::shared_ptr<const Process>& process, std::uint64_t time_ns) override;
  void process_sampled(const ProcessSample& sample) override;
  void process_ended(const ProcessExit& exit, std::vector<Event>& events) override;
  void scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;

 private:
  struct Work {
    PipeGraph ended;
    std::unordered_map<std::uint32_t, PipeUse> living = {};  ///< By pid: as if they ended at their last samples.
    std::uint64_t looked_ns = 0;
  };
  static constexpr std::size_t kBytesOfLiving = sizeof(decltype(Work::living)::value_type) + 32;

  void saw(Work& work, const Process& process);
  void look(const ScopeFigures& figures, const PipeGraph& graph, std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::uint64_t least_wall_ns_;
  std::uint64_t least_waited_ns_;
  std::uint64_t least_percent_;
  Works<Work> works_;
};

}  // namespace tracer::internal
