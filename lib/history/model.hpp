// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <tracer/history.hpp>

#include "history/rows.hpp"

namespace tracer::internal {

/// One figure of past tasks, with what each had read.
class UsualFigure {
 public:
  struct Past {
    double value = 0;
    std::optional<double> input_bytes = {};
  };

  struct Point {
    double input_log = 0;
    double value_log = 0;
  };

  /// The newest first.
  explicit UsualFigure(std::vector<Past> past) : past_(std::move(past)) {}

  std::optional<Usual> usual(std::optional<std::uint64_t> input_bytes) const;
  /// What the past tasks would have taken with so much input.
  std::vector<double> values_for(std::optional<std::uint64_t> input_bytes, Basis& basis) const;

 private:
  struct Choice {
    Basis basis = Basis::kAll;
    double slope = 0;  ///< By powers: value ~ input^slope.
    double least_input = 0;
    double most_input = 0;
    std::vector<Point> points = {};   ///< The newest first.
    std::vector<double> missed = {};  ///< By how much each exceeds what others of similar input predict.
  };

  Choice choose() const;

  std::vector<Past> past_;
  mutable std::once_flag once_;
  mutable Choice choice_;
};

/// What is usual of one kind of tasks. Any thread may ask.
class UsualOfKind {
 public:
  /// Older ones count no more.
  static constexpr std::size_t kMostTasks = 200;

  /// Of tasks that succeeded, the newest first.
  explicit UsualOfKind(const std::vector<const PastTask*>& tasks);

  Expectation expect(std::optional<std::uint64_t> input_bytes) const;
  std::optional<std::uint64_t> time_left_ns(std::uint64_t elapsed_ns, std::optional<std::uint64_t> input_bytes) const;
  /// The most CPUs that a past task used on average, in thousandths; absent below History::kLeast.
  std::optional<Usual> used_millicpus() const { return millicpus_.usual({}); }
  /// The past tells nothing of what so much input takes: all of them read far less. False where it is not known.
  bool is_beyond(std::optional<std::uint64_t> input_bytes) const noexcept;

 private:
  UsualFigure wall_ns_;
  UsualFigure cpu_ns_;
  UsualFigure peak_bytes_;
  UsualFigure read_bytes_;
  UsualFigure written_bytes_;
  UsualFigure millicpus_;
  std::optional<std::uint64_t> most_read_bytes_;
};

/// What is usual, of each kind of tasks. Only tasks that succeeded count. Any thread may ask.
class UsualModel {
 public:
  /// The newest first.
  explicit UsualModel(const std::vector<PastTask>& tasks);

  Expectation expect(const TaskKind& kind, std::optional<std::uint64_t> input_bytes) const;
  std::optional<std::uint64_t> time_left_ns(const TaskKind& kind, std::uint64_t elapsed_ns,
                                            std::optional<std::uint64_t> input_bytes) const;

 private:
  const UsualOfKind* of_kind(const TaskKind& kind) const;

  std::map<TaskKind, UsualOfKind> kinds_;
};

/// Of those of one kind, the newest first: those that count for what is usual.
std::vector<const PastTask*> succeeded(const std::vector<PastTask>& tasks);

}  // namespace tracer::internal
