// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/history.hpp>

#include "base/process_id.hpp"
#include "history/session_history.hpp"
#include "report/task_counts.hpp"

namespace tracerd {

/// The terminal's last row shows how long it has taken, how many tasks run, are done, have failed and wait (processes
/// where there are no tasks), what fails or stands still, and which process uses most CPU time, its memory and
/// progress; what the command prints scrolls above it. Only on a terminal on which lines are printed, and not in the
/// first seconds: "0:14  3 running, 7 done, 1 failed | bwa mem S1 98 % CPU 82.0 MiB, reads 61 %"
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// Shows how much longer tasks usually take. Only on a terminal; null: that is not known.
  void use(std::unique_ptr<tracer::internal::SessionHistory> history) { history_ = std::move(history); }
  bool on_terminal() const noexcept { return on_terminal_; }
  void add(const tracer::Event& event);
  /// Shows the last whole snapshot, if there is a newer one than what is shown.
  void update();
  void clear();

 private:
  /// What uses most CPU time.
  struct Busiest {
    std::string text;  ///< Empty: nothing is known to run.
    double cpu_share = 0;
    std::uint32_t pid = 0;
    std::uint64_t work = 0;                     ///< The key of its task or run.
    std::optional<std::uint64_t> left_ns = {};  ///< Of the task, as it usually is.
  };
  /// What comes forward in an input file.
  struct Reader {
    std::uint32_t pid = 0;
    std::string tool;
    std::string progress;
  };
  struct Seen {
    std::uint64_t time_ns = 0;
    std::uint64_t cpu_ns = 0;
  };
  using SeenProcesses = std::unordered_map<tracer::internal::ProcessId, Seen, tracer::internal::ProcessIdHash>;
  struct LivingTask {
    tracer::TaskKind kind;
    std::uint64_t start_ns = 0;
  };
  static constexpr std::size_t kMostTasks = 4096;
  std::optional<std::uint64_t> left_ns(const tracer::Context& context, std::uint64_t now_ns) const;
  void saw(const tracer::ProcessExit& exit);
  void saw(const tracer::TaskStart& start);
  void saw(const tracer::TaskFinish& finish);
  void saw(const tracer::ProcessSample& sample);
  void saw(const tracer::ToolSample& sample);
  /// An error, and what failed in a task, is shown at once, for some seconds; what stands still, as long as it does.
  void saw(const tracer::Finding& finding);
  void begin_snapshot(std::uint64_t time_ns);
  /// What is shown of a finding.
  struct Shown {
    tracer::Key finding_key = {};
    std::string text;
    std::chrono::steady_clock::time_point since = {};
  };
  /// Null: nothing.
  const Shown* shown() const noexcept;
  std::string line(std::size_t columns) const;
  void drop_old_finding();
  void give_rows_back(const std::string& last_row);

  bool on_terminal_;
  bool fresh_ = false;
  unsigned row_ = 0;  ///< In which it stands; 0: not shown.
  std::uint64_t snapshot_ns_ = 0;
  std::uint64_t processes_ = 0;                        ///< In that snapshot.
  Busiest busiest_;                                    ///< Likewise.
  std::unordered_map<std::uint64_t, Reader> readers_;  ///< Likewise, by task or run.
  SeenProcesses seen_;                                 ///< Likewise.
  SeenProcesses seen_before_;                          ///< In the one before.
  std::uint64_t done_processes_ = 0;
  std::uint64_t failed_processes_ = 0;
  tracer::internal::TaskCounts counts_;
  std::unique_ptr<tracer::internal::SessionHistory> history_;
  std::map<tracer::Key, LivingTask> tasks_;  ///< Empty without a history.
  std::optional<Shown> failed_;              ///< Goes after kFindingShown.
  std::vector<Shown> still_;                 ///< As long as they stand still, the newest last.
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tracerd
