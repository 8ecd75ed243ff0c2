// SPDX-License-Identifier: Apache-2.0
/// Figures of tasks in files that other tools read: Nextflow's trace, Snakemake's benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

namespace tracerd {

/// What the files say of a task.
struct EndedTask {
  std::string name;
  std::string hash;  ///< The id that its engine gave it. Empty: none did.
  std::uint32_t pid = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::optional<bool> failed;  ///< Absent, like the next two: its end was not seen.
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> peak_bytes;  ///< At least.
  std::optional<std::uint64_t> peak_at_most_bytes;
  std::optional<std::uint64_t> read_bytes;  ///< Absent, like the next: only a bound is known, or nothing.
  std::optional<std::uint64_t> written_bytes;
};

/// The last end of each task; of no more than kMostTasks, as anybody can make up some.
class TaskFiles {
 public:
  static constexpr std::size_t kMostTasks = 100'000;  ///< A few hundred bytes each.

  void add(const tracer::Event& event);
  bool empty() const noexcept { return tasks_.empty(); }
  /// Ends that are in no file, as there are too many tasks.
  std::uint64_t left_out() const noexcept { return left_out_; }

  /// As Nextflow writes it, with its default columns; what is not known is "-". Behind them is peak_rss_at_most: an
  /// upper bound where peak_rss is only a lower one.
  std::string trace(std::uint64_t wall_offset_ns) const;
  /// For each task the name of a file, and its text as Snakemake writes it; what is not known is "NA".
  /// Behind its columns is max_rss_at_most, likewise.
  std::vector<std::pair<std::string, std::string>> benchmarks() const;

 private:
  std::vector<const EndedTask*> in_order() const;

  /// By run, task and attempt.
  std::map<std::string, EndedTask> tasks_;
  std::uint64_t left_out_ = 0;
};

}  // namespace tracerd
