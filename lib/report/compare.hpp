// SPDX-License-Identifier: Apache-2.0
/// Two traces side by side: what changed, and what is noise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/event.hpp>

#include "state/counted_tasks.hpp"

namespace tracer::internal {

enum class Measure : std::uint8_t { kWall, kCpu, kPeak, kRead, kWritten };
inline constexpr std::array kMeasures = {Measure::kWall, Measure::kCpu, Measure::kPeak, Measure::kRead,
                                         Measure::kWritten};
/// "wall_ns", "cpu_ns", "peak_bytes", "read_bytes", "written_bytes"
std::string_view name_of(Measure measure) noexcept;

/// One value for each task of a step, or each process of a tool.
class ComparedTrace {
 public:
  struct Row {
    std::array<std::vector<double>, kMeasures.size()> values;
  };

  void add(const Event& event);
  /// By step, of tasks that count; after the last event.
  std::map<std::string, Row> steps() const;
  const std::map<std::string, Row>& tools() const noexcept { return tools_; }

 private:
  struct Task {
    std::string step;
    std::optional<Key> run;
    std::array<std::optional<double>, kMeasures.size()> values;
  };

  std::map<std::uint64_t, Task> tasks_;  ///< By key: the last finish of a task counts.
  std::map<std::optional<Key>, CountedTasks> runs_;
  std::map<std::string, Row> tools_;
};

enum class ChangeVerdict { kSame, kMore, kLess, kNotKnown };
/// "same", "more", "less", "unknown"
std::string_view to_string(ChangeVerdict verdict) noexcept;

struct MeasureChange {
  std::size_t n_a = 0;
  std::size_t n_b = 0;
  std::optional<double> median_a = {};
  std::optional<double> median_b = {};
  std::optional<double> change = {};  ///< Of the medians: 0.5 is half more. Absent: one is unknown, or the first is 0.
  std::optional<double> p = {};       ///< How likely ranks so different are by chance. Absent: too few values.
  ChangeVerdict verdict = ChangeVerdict::kNotKnown;
  std::optional<double> spread = {};  ///< Of other runs, on which the verdict rests. Absent: it does not.
  bool may_be_noise = false;          ///< The verdict rests on a threshold alone.
};

struct RowChange {
  std::string name;
  std::array<MeasureChange, kMeasures.size()> measures;

  const MeasureChange& of(Measure measure) const { return measures[static_cast<std::size_t>(measure)]; }
  bool is_changed() const;
};

/// By the name of the row: how much a single task varies, by other runs. Absent: not known.
using UsualSpreads = std::map<std::string, std::array<std::optional<double>, kMeasures.size()>>;

/// In both or only one of them: the one with the largest change of total wall time first.
std::vector<RowChange> changes_of(const std::map<std::string, ComparedTrace::Row>& a,
                                  const std::map<std::string, ComparedTrace::Row>& b, const UsualSpreads& spreads = {});

/// Two-sided; of Mann and Whitney: exact for few values, else by the normal distribution, with ties.
double rank_test(const std::vector<double>& a, const std::vector<double>& b);
/// `spread`: where there are too few values to test.
MeasureChange change_of(const std::vector<double>& a, const std::vector<double>& b, std::optional<double> spread = {});

std::string compare_json(const std::vector<RowChange>& steps, const std::vector<RowChange>& tools);

}  // namespace tracer::internal
