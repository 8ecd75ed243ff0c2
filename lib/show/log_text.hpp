// SPDX-License-Identifier: Apache-2.0
/// What happened, in order, as lines: docs/log.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// Lines from events as they pass by. A line is held for a second of events: what starts and ends meanwhile is one
/// line, and so are processes of a tool that end alike in one task. Bounded.
class LogText {
 public:
  static constexpr std::uint64_t kHeld_ns = 1'000'000'000;

  /// `columns`: longer lines are cut. Absent: none is.
  explicit LogText(std::uint64_t wall_offset_ns, std::optional<std::size_t> columns = {})
      : wall_offset_ns_(wall_offset_ns), columns_(columns) {}

  void add(const Event& event);
  /// All lines are ready: nothing more comes for now.
  void settle();
  /// Those that are ready, each with its end.
  std::string take() { return std::exchange(ready_, {}); }

 private:
  static constexpr std::size_t kMostHeld = 4096;
  static constexpr std::size_t kMostFindings = 1u << 16;
  static constexpr std::size_t kMostFilesNamed = 3;

  struct Line {
    std::uint64_t time_ns = 0;
    std::string name;
    std::string what;        ///< Empty: it is left out.
    ProcessId starts = {};   ///< Of a start.
    std::string alike = {};  ///< Of an end that others may join: their task, tool and end.
    std::string tool = {};   ///< Likewise, as what follows.
    std::string end = {};
    std::uint64_t count = 1;
    std::optional<std::uint64_t> cpu_ns = {};
  };
  /// What a process did with files, as told before its end.
  struct Files {
    ProcessId of = {};
    std::vector<std::pair<std::uint64_t, std::string>> read = {};  ///< Most bytes first.
    std::vector<std::pair<std::uint64_t, std::string>> written = {};
    std::uint64_t more_read = 0;
    std::uint64_t more_written = 0;
  };

  void saw(const RunStart& start);
  void saw(const RunFinish& finish);
  void saw(const TaskSubmit& submit);
  void saw(const TaskStart& start);
  void saw(const TaskFinish& finish);
  void saw(const ProcessExec& exec);
  void saw(const FileUse& use);
  void saw(const ProcessExit& exit);
  void saw(const ContainerStart& start);
  void saw(const ContainerFinish& finish);
  void saw(const Finding& finding);
  void saw(const Loss& loss);
  template <class Other>
  void saw(const Other&) {}

  Line& hold(std::uint64_t time_ns, const Context& context, std::string what);
  Line& held(std::uint64_t number) { return held_[static_cast<std::size_t>(number - first_)]; }
  /// It is no line of its own.
  void drop_start(const ProcessId& process);
  void let_first_go();
  void write(const Line& line);
  std::string files_text(const Process& process) const;

  const std::uint64_t wall_offset_ns_;
  const std::optional<std::size_t> columns_;
  std::string ready_;
  std::deque<Line> held_;
  std::uint64_t first_ = 0;  ///< The number of the first one held.
  std::uint64_t now_ns_ = 0;
  std::size_t name_width_ = 0;
  std::unordered_map<ProcessId, std::uint64_t, ProcessIdHash> starts_;  ///< Numbers of held ones.
  std::unordered_map<std::string, std::uint64_t> ends_;                 ///< Likewise, by Line::alike.
  std::unordered_set<std::uint64_t> findings_;                          ///< Told before.
  Files files_;
};

}  // namespace tracer::internal
