// SPDX-License-Identifier: Apache-2.0
#include "report/requested_use.hpp"

#include <cstdint>
#include <optional>

#include "base/wide.hpp"
#include "report/parallelism.hpp"

namespace tracer::internal {
namespace {

/// Of the tasks of one run or step.
class Uses {
 public:
  void add(const ReportRow& task) {
    if (task.living != 0) return;
    const std::uint64_t millicpus = task.requested.millicpus.value_or(0);
    const std::uint64_t memory_bytes = task.requested.memory_bytes.value_or(0);
    if (millicpus != 0 && utilization_of(task) && task.cpu_ns->bound != Bound::kAtMost) {
      ++cpu_tasks_;
      asked_ += Wide{millicpus} * task.wall_ns;
      cpu_ns_ += task.cpu_ns->value;
      wall_ns_ += task.wall_ns;
      if (task.cpu_ns->bound != Bound::kExact) cpu_bound_ = Bound::kAtLeast;
    }
    if (memory_bytes != 0 && task.memory_bytes)
      add(RequestedPart{1, memory_bytes, *task.memory_bytes, task.memory_at_most_bytes});
  }

  void add(const Uses& more) {
    cpu_tasks_ += more.cpu_tasks_;
    asked_ += more.asked_;
    cpu_ns_ += more.cpu_ns_;
    wall_ns_ += more.wall_ns_;
    if (more.cpu_bound_ != Bound::kExact) cpu_bound_ = more.cpu_bound_;
    if (more.memory_) add(*more.memory_);
  }

  std::optional<RequestedUse> use() const {
    if (cpu_tasks_ == 0 && !memory_) return std::nullopt;
    RequestedUse use;
    if (cpu_tasks_ != 0)
      use.millicpus = RequestedPart{cpu_tasks_, mean(asked_), {mean(Wide{1000} * cpu_ns_), cpu_bound_}, std::nullopt};
    use.memory_bytes = memory_;
    return use;
  }

 private:
  std::uint64_t mean(Wide sum) const { return static_cast<std::uint64_t>((sum + wall_ns_ / 2) / wall_ns_); }

  static double share_of(const RequestedPart& part) {
    return static_cast<double>(part.used.value) / static_cast<double>(part.requested);
  }
  void add(const RequestedPart& memory) {
    const std::uint64_t tasks = (memory_ ? memory_->tasks : 0) + memory.tasks;
    if (!memory_ || share_of(memory) > share_of(*memory_)) memory_ = memory;
    memory_->tasks = tasks;
  }

  std::uint64_t cpu_tasks_ = 0;
  Wide asked_ = 0;  ///< Thousandths of a CPU for a nanosecond.
  Wide cpu_ns_ = 0;
  Wide wall_ns_ = 0;
  Bound cpu_bound_ = Bound::kExact;
  std::optional<RequestedPart> memory_ = {};
};

void set_uses(std::vector<ReportNode>& nodes, Uses& above) {
  for (ReportNode& node : nodes) {
    if (node.level == SummaryLevel::kTask) above.add(node.row);
    if (node.level >= SummaryLevel::kTask) continue;
    Uses own;
    set_uses(node.below, own);
    node.row.requested_use = own.use();
    above.add(own);
  }
}

}  // namespace

void set_requested_use(std::vector<ReportNode>& nodes) {
  Uses all;
  set_uses(nodes, all);
}

}  // namespace tracer::internal
