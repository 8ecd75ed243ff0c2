// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/history.hpp>

#include "history/session_history.hpp"

namespace tracerd {

/// The terminal's last row shows what fails or stands still, which tasks and tools are running, their progress and the
/// time left; what the command prints scrolls above it. Only on a terminal on which lines are printed, and not in the
/// first seconds.
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// Shows how much longer tasks usually take. Only on a terminal; null: that is not known.
  void use(std::unique_ptr<tracer::internal::SessionHistory> history) { history_ = std::move(history); }
  bool on_terminal() const noexcept { return on_terminal_; }
  void saw(const tracer::TaskStart& start);
  void saw(const tracer::TaskFinish& finish);
  void saw(const tracer::ProcessSample& sample);
  void saw(const tracer::ToolSample& sample);
  /// An error, and what failed in a task, is shown at once, in front, for some seconds; what stands still, as long as
  /// it does.
  void saw(const tracer::Finding& finding);
  /// Shows the last whole snapshot, if there is a newer one than what is shown.
  void update();
  void clear();

 private:
  struct Running {
    std::string text;  ///< Empty: it is only counted.
    std::string task;  ///< Empty: it is in none that has a name.
    std::uint64_t cpu_ns = 0;
    bool has_progress = false;
    std::optional<std::uint64_t> left_ns = {};  ///< Of the task, as it usually is.
  };
  struct LivingTask {
    tracer::TaskKind kind;
    std::uint64_t start_ns = 0;
  };
  static constexpr std::size_t kMostTasks = 4096;
  std::optional<std::uint64_t> left_ns(const tracer::Context& context, std::uint64_t now_ns) const;
  void add(std::uint64_t snapshot_ns, std::uint64_t processes, Running running);
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
  std::uint64_t processes_ = 0;  ///< In that snapshot.
  std::vector<Running> running_;
  std::unique_ptr<tracer::internal::SessionHistory> history_;
  std::map<tracer::Key, LivingTask> tasks_;  ///< Empty without a history.
  std::optional<Shown> failed_;              ///< Goes after kFindingShown.
  std::vector<Shown> still_;                 ///< As long as they stand still, the newest last.
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// "gzip 43 % of reads.fq, 12 s left": the tool, and how far it has come if that is known.
std::string describe(const tracer::ProcessSample& sample);

}  // namespace tracerd
