// SPDX-License-Identifier: Apache-2.0
/// Two traces side by side: what changed, what failed, and what is noise.
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
#include <tracer/recording.hpp>
#include <tracer/report.hpp>

#include "state/counted_tasks.hpp"

namespace tracer::internal {

enum class Measure : std::uint8_t { kWall, kCpu, kPeak, kRead, kWritten };
inline constexpr std::array kMeasures = {Measure::kWall, Measure::kCpu, Measure::kPeak, Measure::kRead,
                                         Measure::kWritten};
/// "wall_ns", "cpu_ns", "peak_bytes", "read_bytes", "written_bytes"
std::string_view name_of(Measure measure) noexcept;

/// A step or tool of one side.
struct ComparedRow {
  /// One for each task of a step that did not fail, or for each process of a tool.
  std::array<std::vector<double>, kMeasures.size()> values = {};
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;                  ///< Part of `ended`.
  std::map<TimeCause, double> time_ns = {};  ///< Where the walls among `values` went.
  bool time_is_whole = true;                 ///< It is known of all of them.
};
using ComparedRows = std::map<std::string, ComparedRow>;

/// A recording, or a run of the history.
struct ComparedSide {
  double wall_ns = 0;               ///< From the first start to the last end.
  std::string outcome = "unknown";  ///< Of the run that took most of that, as in HistoryRun.
  std::uint64_t tasks = 0;
  std::uint64_t failed_tasks = 0;
  ComparedRows steps = {};
  ComparedRows tools = {};
};

/// Makes a side of events.
class ComparedTrace {
 public:
  void add(const Event& event);
  /// After the last event; of tasks that count.
  ComparedSide side() const;

 private:
  struct Task {
    std::optional<std::string> step;
    std::optional<Key> run;
    bool failed = false;
    std::array<std::optional<double>, kMeasures.size()> values;
    std::optional<TaskLedger> ledger;
  };

  Summary summary_;                      ///< Decides which processes failed.
  std::map<std::uint64_t, Task> tasks_;  ///< By key: the last finish of a task counts.
  std::map<std::optional<Key>, CountedTasks> runs_;
  ComparedRows tools_;
  RunFinish run_;  ///< Of those that ended, the longest.
};

enum class ChangeVerdict { kSame, kMore, kLess, kNotKnown };
/// "same", "more", "less", "unknown"
std::string_view to_string(ChangeVerdict verdict) noexcept;

struct MeasureChange {
  std::size_t n_a = 0;
  std::size_t n_b = 0;
  std::optional<double> median_a = {};
  std::optional<double> median_b = {};
  double sum_a = 0;
  double sum_b = 0;
  bool of_sums = false;               ///< Numbers differ: sums were compared. Else medians.
  std::optional<double> change = {};  ///< 0.5: half more. Absent: one is unknown, or the first is 0.
  std::optional<double> p = {};       ///< How likely ranks so different are by chance. Absent: too few values.
  ChangeVerdict verdict = ChangeVerdict::kNotKnown;
  std::optional<double> spread = {};  ///< Of other runs, on which the verdict rests. Absent: it does not.
  bool may_be_noise = false;          ///< The verdict rests on a threshold alone.
};

struct RowChange {
  std::string name;
  std::uint64_t n_a = 0;  ///< All that ended.
  std::uint64_t n_b = 0;
  std::uint64_t failed_a = 0;
  std::uint64_t failed_b = 0;
  std::array<MeasureChange, kMeasures.size()> measures = {};
  std::optional<TimeCause> cause = {};  ///< Most of the change of the wall time is of this time. Absent: of none.
  double cause_ns = 0;                  ///< How much more of it each took, or with of_sums all.

  const MeasureChange& of(Measure measure) const { return measures[static_cast<std::size_t>(measure)]; }
};

struct Comparison {
  ComparedSide a;
  ComparedSide b;
  std::vector<RowChange> steps = {};  ///< The largest change of total wall time first; so are the tools.
  std::vector<RowChange> tools = {};
};

/// By the name of the row: how much a single task varies, by other runs. Absent: not known.
using UsualSpreads = std::map<std::string, std::array<std::optional<double>, kMeasures.size()>>;

/// Leaves out rows of less than 1 % of the wall time of both, if no more of them failed in one than in the other.
Comparison compare(ComparedSide a, ComparedSide b, const UsualSpreads& spreads = {});

/// Of the rest of a recording.
ComparedSide side_of(RecordingReader& reader);

/// Two-sided; of Mann and Whitney: exact for few values, else by the normal distribution, with ties.
double rank_test(const std::vector<double>& a, const std::vector<double>& b);
/// `spread`: where there are too few values to test. `of_sums`: as there are more of them on one side.
MeasureChange change_of(const std::vector<double>& a, const std::vector<double>& b, std::optional<double> spread = {},
                        bool of_sums = false);

std::string compare_json(const Comparison& compared);

}  // namespace tracer::internal
