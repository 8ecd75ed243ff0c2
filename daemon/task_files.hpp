// SPDX-License-Identifier: Apache-2.0
/// Figures of tasks in files that other tools read: Nextflow's trace, Snakemake's benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

namespace tracerd {

/// The last end of each task.
class TaskFiles {
 public:
  void add(const tracer::Event& event);
  bool empty() const noexcept { return tasks_.empty(); }

  /// As Nextflow writes it, with its default columns; what is not known is "-".
  std::string trace(std::uint64_t wall_offset_ns) const;
  /// For each task the name of a file, and its text as Snakemake writes it; what is not known is "NA".
  std::vector<std::pair<std::string, std::string>> benchmarks() const;

 private:
  std::vector<const tracer::TaskFinish*> in_order() const;

  /// By run, task and attempt.
  std::map<std::string, tracer::TaskFinish> tasks_;
};

}  // namespace tracerd
