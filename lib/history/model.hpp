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

  /// The newest first.
  explicit UsualFigure(std::vector<Past> past) : past_(std::move(past)) {}

  std::optional<Usual> usual(std::optional<std::uint64_t> input_bytes) const;
  /// What the past tasks would have taken with so much input.
  std::vector<double> values_for(std::optional<std::uint64_t> input_bytes, Basis& basis) const;

 private:
  /// By powers: value = exp(offset) * input^slope.
  struct Line {
    double offset = 0;
    double slope = 0;
  };
  struct Choice {
    bool made = false;
    Basis basis = Basis::kAll;
    Line line = {};
    double least_input = 0;
    double most_input = 0;
  };

  Choice choose() const;

  std::vector<Past> past_;
  mutable std::once_flag once_;
  mutable Choice choice_;
};

/// What is usual, of each kind of tasks. Only tasks that succeeded count. Any thread may ask.
class UsualModel {
 public:
  UsualModel() = default;
  /// The newest first.
  explicit UsualModel(const std::vector<PastTask>& tasks) { learn(tasks); }

  /// The newest first; before anything is asked.
  void learn(const std::vector<PastTask>& tasks);

  Expectation expect(const TaskKind& kind, std::optional<std::uint64_t> input_bytes) const;
  std::optional<std::uint64_t> time_left_ns(const TaskKind& kind, std::uint64_t elapsed_ns,
                                            std::optional<std::uint64_t> input_bytes) const;
  /// The most CPUs that a past task of this kind used on average, in thousandths; absent below History::kLeast.
  std::optional<Usual> used_millicpus(const TaskKind& kind) const;

 private:
  /// Of a kind; older ones count no more.
  static constexpr std::size_t kMostOfKind = 200;

  struct OfKind {
    explicit OfKind(const std::vector<const PastTask*>& tasks);
    UsualFigure wall_ns;
    UsualFigure cpu_ns;
    UsualFigure peak_bytes;
    UsualFigure read_bytes;
    UsualFigure written_bytes;
    UsualFigure millicpus;
  };

  std::map<TaskKind, OfKind> kinds_;
};

}  // namespace tracer::internal
