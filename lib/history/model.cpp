// SPDX-License-Identifier: Apache-2.0
#include "history/model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/order_statistics.hpp"

namespace tracer::internal {
namespace {

/// Lines are fitted to the newest ones: each pair of them is looked at, and this for each that is left out.
constexpr std::size_t kMostFitted = 48;
/// A more elaborate choice must be better by this, as the simpler one deceives less.
constexpr double kMustBeat = 0.97;
constexpr double kMostSlope = 1.5;
/// So many of the most similar input stand for a task.
constexpr std::size_t kSimilar = 3;
/// How far beyond the inputs seen it extrapolates.
constexpr double kBeyond = 2.0;
/// So little more input is still the same: programs read files of their own, too.
constexpr std::uint64_t kLittleMore_bytes = 65536;

using Points = std::vector<UsualFigure::Point>;

/// Theil and Sen: offset, and the median of the slopes of all pairs. `left_out`: an index that does not count.
std::optional<std::pair<double, double>> line_of(const Points& points, std::size_t left_out) {
  constexpr double kSameInput = 1e-3;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i && i != left_out; ++j) {
      const double run = points[i].input_log - points[j].input_log;
      if (j != left_out && std::abs(run) > kSameInput)
        slopes.push_back((points[i].value_log - points[j].value_log) / run);
    }
  }
  if (slopes.size() < History::kLeast) return std::nullopt;
  const double slope = std::clamp(median_of(std::move(slopes)), 0.0, kMostSlope);
  std::vector<double> offsets;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (i != left_out) offsets.push_back(points[i].value_log - slope * points[i].input_log);
  return std::pair(median_of(std::move(offsets)), slope);
}

/// The median of those with the most similar input, each scaled to this one. Of several as similar, the newest count.
double of_similar(const Points& points, double input_log, double slope, std::size_t left_out) {
  std::vector<std::pair<double, std::size_t>> nearest;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (i != left_out) nearest.emplace_back(std::abs(points[i].input_log - input_log), i);
  const std::size_t count = std::min(kSimilar, nearest.size());
  std::partial_sort(nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(count), nearest.end());
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const UsualFigure::Point& point = points[nearest[i].second];
    values.push_back(point.value_log + slope * (input_log - point.input_log));
  }
  return median_of(std::move(values));
}

/// By how much each exceeds what is predicted from the others; empty: one of them can't be predicted.
template <class Predict>
std::vector<double> missed_by_each(const Points& points, const Predict& predict) {
  std::vector<double> missed;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::optional<double> predicted = predict(i);
    if (!predicted) return {};
    missed.push_back(points[i].value_log - *predicted);
  }
  return missed;
}

double error_of(std::vector<double> missed) {
  for (double& each : missed) each = std::abs(each);
  return median_of(std::move(missed));
}

double median_without(const Points& points, std::size_t left_out) {
  std::vector<double> values;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (i != left_out) values.push_back(points[i].value_log);
  return median_of(std::move(values));
}

}  // namespace

UsualFigure::Choice UsualFigure::choose() const {
  Choice choice;
  Points& points = choice.points;
  for (const Past& past : past_)
    if (past.input_bytes && *past.input_bytes > 0 && past.value > 0)
      points.push_back({std::log(*past.input_bytes), std::log(past.value)});
  if (points.size() < History::kLeast) return choice;
  const Points newest(points.begin(),
                      points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), kMostFitted)));
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.input_log < b.input_log; });
  choice.least_input = std::exp(least->input_log) / kBeyond;
  choice.most_input = std::exp(most->input_log) * kBeyond;
  double best =
      error_of(missed_by_each(newest, [&](std::size_t i) { return std::optional(median_without(newest, i)); }));
  if (const auto line = line_of(newest, newest.size())) {
    choice.slope = line->second;
    const auto by_line = missed_by_each(newest, [&](std::size_t i) -> std::optional<double> {
      const auto without = line_of(newest, i);
      return without ? std::optional(without->first + without->second * newest[i].input_log) : std::nullopt;
    });
    if (!by_line.empty() && error_of(by_line) < kMustBeat * best) {
      choice.basis = Basis::kScaled;
      best = error_of(by_line);
    }
  }
  choice.missed = missed_by_each(
      points, [&](std::size_t i) { return std::optional(of_similar(points, points[i].input_log, choice.slope, i)); });
  if (error_of(choice.missed) < kMustBeat * best) choice.basis = Basis::kSimilar;
  return choice;
}

std::vector<double> UsualFigure::values_for(std::optional<std::uint64_t> input_bytes, Basis& basis) const {
  basis = Basis::kAll;
  std::vector<double> values;
  if (input_bytes && *input_bytes > 0) {
    std::call_once(once_, [this] { choice_ = choose(); });
    const double to_log =
        std::log(std::clamp(static_cast<double>(*input_bytes), choice_.least_input, choice_.most_input));
    if (choice_.basis == Basis::kSimilar) {
      // Few are similar: how far values lie apart is what this prediction has missed before.
      const double predicted = of_similar(choice_.points, to_log, choice_.slope, choice_.points.size());
      for (const double missed : choice_.missed) values.push_back(std::exp(predicted + missed));
    } else if (choice_.basis == Basis::kScaled) {
      for (const Past& past : past_)
        if (past.input_bytes && *past.input_bytes > 0)
          values.push_back(past.value * std::exp(choice_.slope * (to_log - std::log(*past.input_bytes))));
    }
    if (values.size() >= History::kLeast) {
      basis = choice_.basis;
      return values;
    }
    values.clear();
  }
  for (const Past& past : past_) values.push_back(past.value);
  return values;
}

std::optional<Usual> UsualFigure::usual(std::optional<std::uint64_t> input_bytes) const {
  if (past_.size() < History::kLeast) return std::nullopt;
  Usual usual;
  const std::vector<double> values = values_for(input_bytes, usual.basis);
  const auto whole = [](double value) { return static_cast<std::uint64_t>(std::llround(std::max(value, 0.0))); };
  const double median = median_of(values);
  usual.median = whole(median);
  usual.p90 = whole(quantile_of(values, 0.9));
  usual.spread = whole(spread_of(values, median));
  usual.most = whole(*std::max_element(values.begin(), values.end()));
  usual.n = values.size();
  return usual;
}

namespace {

using Figure = std::optional<std::uint64_t> PastTask::*;

std::vector<UsualFigure::Past> past_of(const std::vector<const PastTask*>& tasks, Figure figure, bool by_input) {
  std::vector<UsualFigure::Past> past;
  for (const PastTask* task : tasks) {
    if (!(task->*figure)) continue;
    past.push_back({static_cast<double>(*(task->*figure)), {}});
    if (by_input && task->read_bytes) past.back().input_bytes = static_cast<double>(*task->read_bytes);
  }
  return past;
}

std::vector<UsualFigure::Past> millicpus_of(const std::vector<const PastTask*>& tasks) {
  std::vector<UsualFigure::Past> past;
  for (const PastTask* task : tasks)
    if (task->cpu_ns && task->wall_ns && *task->wall_ns != 0)
      past.push_back({1000.0 * static_cast<double>(*task->cpu_ns) / static_cast<double>(*task->wall_ns), {}});
  return past;
}

}  // namespace

UsualOfKind::UsualOfKind(const std::vector<const PastTask*>& tasks)
    : wall_ns_(past_of(tasks, &PastTask::wall_ns, true)),
      cpu_ns_(past_of(tasks, &PastTask::cpu_ns, true)),
      peak_bytes_(past_of(tasks, &PastTask::peak_bytes, true)),
      read_bytes_(past_of(tasks, &PastTask::read_bytes, false)),
      written_bytes_(past_of(tasks, &PastTask::written_bytes, true)),
      millicpus_(millicpus_of(tasks)) {
  for (const PastTask* task : tasks) most_read_bytes_ = std::max(most_read_bytes_, task->read_bytes);
}

Expectation UsualOfKind::expect(std::optional<std::uint64_t> input_bytes) const {
  return {wall_ns_.usual(input_bytes), cpu_ns_.usual(input_bytes), peak_bytes_.usual(input_bytes),
          read_bytes_.usual({}), written_bytes_.usual(input_bytes)};
}

std::optional<std::uint64_t> UsualOfKind::time_left_ns(std::uint64_t elapsed_ns,
                                                       std::optional<std::uint64_t> input_bytes) const {
  constexpr std::size_t kLeastLonger = 3;
  Basis basis = Basis::kAll;
  std::vector<double> walls = wall_ns_.values_for(input_bytes, basis);
  if (walls.size() < History::kLeast) return std::nullopt;
  const auto elapsed = static_cast<double>(elapsed_ns);
  std::erase_if(walls, [elapsed](double wall) { return wall <= elapsed; });
  if (walls.size() < kLeastLonger) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(median_of(std::move(walls)) - elapsed));
}

bool UsualOfKind::is_beyond(std::optional<std::uint64_t> input_bytes) const noexcept {
  if (!input_bytes || !most_read_bytes_) return false;
  const std::uint64_t more_bytes = *input_bytes - std::min(*input_bytes, *most_read_bytes_);
  return more_bytes > kLittleMore_bytes &&
         static_cast<double>(*input_bytes) > kBeyond * static_cast<double>(*most_read_bytes_);
}

std::vector<const PastTask*> succeeded(const std::vector<PastTask>& tasks) {
  std::vector<const PastTask*> all;
  for (const PastTask& task : tasks)
    if (task.outcome == Outcome::kSucceeded && all.size() < UsualOfKind::kMostTasks) all.push_back(&task);
  return all;
}

UsualModel::UsualModel(const std::vector<PastTask>& tasks) {
  std::map<TaskKind, std::vector<const PastTask*>> by_kind;
  for (const PastTask& task : tasks) {
    if (task.outcome != Outcome::kSucceeded) continue;
    auto& of_kind = by_kind[task.kind];
    if (of_kind.size() < UsualOfKind::kMostTasks) of_kind.push_back(&task);
  }
  for (const auto& [kind, of_kind] : by_kind) kinds_.try_emplace(kind, of_kind);
}

const UsualOfKind* UsualModel::of_kind(const TaskKind& kind) const {
  const auto known = kinds_.find(kind);
  return known == kinds_.end() ? nullptr : &known->second;
}

Expectation UsualModel::expect(const TaskKind& kind, std::optional<std::uint64_t> input_bytes) const {
  const UsualOfKind* known = of_kind(kind);
  return known == nullptr ? Expectation{} : known->expect(input_bytes);
}

std::optional<std::uint64_t> UsualModel::time_left_ns(const TaskKind& kind, std::uint64_t elapsed_ns,
                                                      std::optional<std::uint64_t> input_bytes) const {
  const UsualOfKind* known = of_kind(kind);
  return known == nullptr ? std::nullopt : known->time_left_ns(elapsed_ns, input_bytes);
}

}  // namespace tracer::internal
