// SPDX-License-Identifier: Apache-2.0
/// Adds events up, by tool and by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/export.hpp>

namespace tracer {
namespace internal {

class PipeGraph;
class MemoryRounds;
struct MemoryPeak;
class CgroupPeaks;

}  // namespace internal

/// Sums of the programs of one tool, of one step, or of all.
struct SummaryRow {
  std::string name;
  Context task;                 ///< By task only: its labels.
  std::uint64_t processes = 0;  ///< That ended as this tool, or in this step.
  std::uint64_t wall_ns = 0;    ///< By tool: the sum of its programs' durations. By step: from first start to last end.
  std::uint64_t cpu_ns = 0;     ///< Of those for which it is known.
  std::uint64_t unknown_cpus = 0;        ///< For which it is not: cpu_ns is too small.
  std::uint64_t read_bytes = 0;          ///< Of those for which it is known.
  std::uint64_t read_at_most_bytes = 0;  ///< A bound, of those for which there is one.
  std::uint64_t unknown_reads = 0;       ///< With a bound only, if more than what exec itself reads is in doubt.
  std::uint64_t unbounded_reads = 0;     ///< Without even a bound: read_bytes is too small.
  std::uint64_t written_bytes = 0;       ///< Of those for which it is known.
  std::uint64_t unknown_writes = 0;      ///< For which it is not: written_bytes is too small.
  std::uint64_t failed = 0;
  std::optional<std::uint64_t> peak_rss_bytes;  ///< Of the largest single program.
  std::uint64_t first_start_ns = 0;
  std::uint64_t last_end_ns = 0;
  std::uint64_t unknown_peaks = 0;  ///< Programs whose peak is not known.
  /// Most that the living processes of a task, those with the same labels, held at once, at any snapshot; of one
  /// process alone, its own peak. By step (its largest task), by task and in total (of all together) only; absent: at
  /// no snapshot was it known.
  std::optional<std::uint64_t> task_peak_bytes;
  /// It is the peak of the largest process, of which no snapshot saw as much; or snapshots were not taken to the end.
  bool task_peak_is_floor = false;
  std::uint64_t unknown_snapshots = 0;  ///< At which it was not known: task_peak_bytes may be too small.
  Ledger ledger;                        ///< Summed over those for which it is known. Peers are absent.

  /// cpu_ns / wall_ns, too small where cpu_ns is; absent if there was no wall time.
  std::optional<double> cpu_utilization() const noexcept {
    if (wall_ns == 0) return std::nullopt;
    return static_cast<double>(cpu_ns) / static_cast<double>(wall_ns);
  }
};

struct Failure {
  std::shared_ptr<const Process> process;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  bool core_dumped = false;
};

/// Programs that pass data on through pipes, and which of them the others wait for.
struct Pipeline {
  std::vector<std::string> stages;  ///< Tools, from the first writer on.
  std::string bottleneck;           ///< The stage that itself waits least for pipes; empty: none stands out.
  double bottleneck_share = 0;      ///< Of its processes' lives that it waits for pipes, 0 to 1.
  double others_share = 0;          ///< Likewise of the other stages, all together.
  std::uint64_t waited_ns = 0;      ///< For pipes, by all stages: of each process at most its life.
};

/// The most that was charged to a cgroup, and what of it its processes explain.
struct CgroupMemory {
  std::uint64_t peak_bytes = 0;  ///< The kernel's own mark; where it has none, the most of all snapshots.
  CgroupSample highest;          ///< Of all snapshots that with the most memory; memory_bytes is known.
  bool followed_wholly = true;   ///< At each snapshot all processes in it were followed.
};

/// Not thread-safe. Its memory grows with the number of different tools and steps, not with the number of processes.
class TRACER_EXPORT Summary {
 public:
  Summary();
  ~Summary();
  Summary(Summary&&) noexcept;
  Summary& operator=(Summary&&) noexcept;
  static constexpr std::size_t kMaxFailures = 100;

  void add(const Event& event);

  std::vector<SummaryRow> by_tool() const;  ///< Most CPU first.
  std::vector<SummaryRow> by_step() const;  ///< In order of their first start; empty if nothing has a step.
  std::vector<SummaryRow> by_task() const;  ///< Likewise, of those with the same labels; empty if nothing is labeled.
  SummaryRow total() const;                 ///< wall_ns: from first start to last end.
  const std::vector<Failure>& failures() const noexcept { return failures_; }  ///< The first kMaxFailures.
  std::uint64_t failed() const noexcept { return failed_; }
  /// The last samples of processes that have not ended.
  std::vector<ProcessSample> survivors() const;
  std::vector<Pipeline> pipelines() const;    ///< Those that waited longest first.
  std::vector<CgroupMemory> cgroups() const;  ///< Those with the highest peak first.
  std::uint64_t exits() const noexcept { return exits_; }
  std::uint64_t losses() const noexcept { return losses_; }
  const std::optional<SessionEnd>& end() const noexcept { return end_; }

 private:
  template <class Visit>
  void for_each_whole(const Context& context, Visit visit);
  void add_program(const Process& process, const ProgramAccount& program, bool peak_matters);
  void begin_snapshot(std::uint64_t time_ns);
  void set_task_peak(SummaryRow& row, const internal::MemoryPeak& peak) const;
  bool snapshots_were_taken() const;

  std::map<std::string, SummaryRow> tools_;
  std::map<std::string, SummaryRow> steps_;
  std::map<Context, SummaryRow> tasks_;
  SummaryRow total_;
  std::vector<Failure> failures_;
  std::map<std::uint32_t, ProcessSample> living_;  ///< By pid; of the last snapshot.
  std::uint64_t snapshot_ns_ = 0;
  std::unique_ptr<internal::PipeGraph> pipes_;
  std::unique_ptr<internal::MemoryRounds> memory_;
  std::unique_ptr<internal::CgroupPeaks> cgroups_;
  std::uint64_t failed_ = 0;
  std::uint64_t exits_ = 0;
  std::uint64_t losses_ = 0;
  std::optional<SessionEnd> end_;
};

}  // namespace tracer
