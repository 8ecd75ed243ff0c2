// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/order_statistics.hpp"
#include "report/json_builder.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kLeastTested = 3;
/// Many rows are looked at: one in a hundred deceives.
constexpr double kMostChance = 0.01;
constexpr double kLeastChange = 0.05;
constexpr double kLeastUntested = 0.25;
/// Two tasks of the same kind are hardly ever so many spreads apart by chance.
constexpr double kLeastSpreads = 4;
/// Ways to choose one side's ranks that are all looked at.
constexpr double kMostWays = 20000;
/// Of one tool or step; the first ones.
constexpr std::size_t kMostValues = 20000;

std::optional<double> value_of(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

void put(ComparedTrace::Row& row, const std::array<std::optional<double>, kMeasures.size()>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] && row.values[i].size() < kMostValues) row.values[i].push_back(*values[i]);
}

double ways_to_choose(std::size_t some, std::size_t of) {
  double ways = 1;
  for (std::size_t i = 0; i < some; ++i) ways = ways * static_cast<double>(of - i) / static_cast<double>(i + 1);
  return ways;
}

/// Equal values share the mean of their ranks. `ties`: the sum of t^3 - t over groups of t equal values.
std::vector<double> ranks_of(const std::vector<double>& values, double& ties) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  ties = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = (static_cast<double>(begin) + static_cast<double>(end) + 1) / 2;
    const auto equal = static_cast<double>(end - begin);
    ties += equal * equal * equal - equal;
    begin = end;
  }
  return ranks;
}

/// The share of all ways to choose `some` ranks whose sum is as far from the mean.
double exact_chance(const std::vector<double>& ranks, std::size_t some, double distance, double mean) {
  std::vector<std::size_t> chosen(some);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  double ways = 0;
  double far = 0;
  for (;;) {
    double sum = 0;
    for (const std::size_t each : chosen) sum += ranks[each];
    ++ways;
    if (std::abs(sum - mean) >= distance - 1e-9) ++far;
    std::size_t at = some;
    while (at > 0 && chosen[at - 1] == ranks.size() - some + at - 1) --at;
    if (at == 0) return far / ways;
    ++chosen[at - 1];
    for (; at < some; ++at) chosen[at] = chosen[at - 1] + 1;
  }
}

}  // namespace

std::string_view name_of(Measure measure) noexcept {
  switch (measure) {
    case Measure::kWall: return "wall_ns";
    case Measure::kCpu: return "cpu_ns";
    case Measure::kPeak: return "peak_bytes";
    case Measure::kRead: return "read_bytes";
    case Measure::kWritten: return "written_bytes";
  }
  return {};
}

std::string_view to_string(ChangeVerdict verdict) noexcept {
  switch (verdict) {
    case ChangeVerdict::kSame: return "same";
    case ChangeVerdict::kMore: return "more";
    case ChangeVerdict::kLess: return "less";
    case ChangeVerdict::kNotKnown: break;
  }
  return "unknown";
}

void ComparedTrace::add(const Event& event) {
  if (const auto* finish = event.get_if<TaskFinish>()) {
    const Context& context = *finish->context;
    runs_[context.run_key].saw_task(context);
    if (!context.task_key || !context.step) return;
    const Account& account = finish->totals.account;
    const auto peak = finish->totals.peak_bytes ? finish->totals.peak_bytes : finish->totals.peak_at_least_bytes;
    tasks_.insert_or_assign(static_cast<std::uint64_t>(*context.task_key),
                            Task{*context.step,
                                 context.run_key,
                                 {static_cast<double>(finish->end_ns - std::min(finish->begin_ns, finish->end_ns)),
                                  value_of(account.cpu_ns), value_of(peak), value_of(account.read_bytes),
                                  value_of(account.written_bytes)}});
  } else if (const auto* over = event.get_if<RunFinish>()) {
    runs_[over->context->run_key].finished(*over);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    const Program& program = *exit->process->program;
    if (exit->process->context->engine_own || !program.tool || exit->attached_ns) return;
    const Account& account = exit->account;
    put(tools_[*program.tool],
        {static_cast<double>(exit->end_ns - std::min(exit->begin_ns, exit->end_ns)), value_of(account.cpu_ns),
         value_of(account.peak_rss_bytes), value_of(account.read_bytes), value_of(account.written_bytes)});
  }
}

std::map<std::string, ComparedTrace::Row> ComparedTrace::steps() const {
  std::map<std::string, Row> steps;
  for (const auto& [key, task] : tasks_)
    if (runs_.at(task.run).count()) put(steps[task.step], task.values);
  return steps;
}

double rank_test(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  double ties = 0;
  const std::vector<double> ranks = ranks_of(all, ties);
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  const double n = n_a + n_b;
  const double sum = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(a.size()), 0.0);
  const double mean = n_a * (n + 1) / 2;
  const double distance = std::abs(sum - mean);
  if (ways_to_choose(a.size(), all.size()) <= kMostWays) return exact_chance(ranks, a.size(), distance, mean);
  const double variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)));
  if (variance <= 0) return 1;
  return std::erfc(std::max(0.0, distance - 0.5) / std::sqrt(variance) / std::sqrt(2.0));
}

MeasureChange change_of(const std::vector<double>& a, const std::vector<double>& b, std::optional<double> spread) {
  MeasureChange change{a.size(), b.size()};
  if (!a.empty()) change.median_a = median_of(a);
  if (!b.empty()) change.median_b = median_of(b);
  if (!change.median_a || !change.median_b) return change;
  const double from = *change.median_a;
  const double to = *change.median_b;
  if (from > 0) change.change = to / from - 1;
  const auto verdict = [&](double least) {
    if (std::abs(to - from) <= least * from) return ChangeVerdict::kSame;
    return to > from ? ChangeVerdict::kMore : ChangeVerdict::kLess;
  };
  if (std::min(a.size(), b.size()) < kLeastTested && spread) {
    change.spread = spread;
    change.verdict = std::abs(to - from) > kLeastSpreads * *spread ? verdict(kLeastChange) : ChangeVerdict::kSame;
    return change;
  }
  if (std::min(a.size(), b.size()) < kLeastTested) {
    change.may_be_noise = true;
    change.verdict = verdict(kLeastUntested);
    return change;
  }
  change.p = rank_test(a, b);
  // So few values can't be more unlikely than this, even if all of one side are above all of the other.
  const double least_p = 2 / ways_to_choose(std::min(a.size(), b.size()), a.size() + b.size());
  if (least_p > kMostChance) {
    change.verdict = *change.p <= least_p * (1 + 1e-9) ? verdict(kLeastUntested) : ChangeVerdict::kSame;
  } else {
    change.verdict = *change.p <= kMostChance ? verdict(kLeastChange) : ChangeVerdict::kSame;
  }
  return change;
}

bool RowChange::is_changed() const {
  return std::any_of(measures.begin(), measures.end(), [](const MeasureChange& each) {
    return each.verdict == ChangeVerdict::kMore || each.verdict == ChangeVerdict::kLess ||
           (each.n_a == 0) != (each.n_b == 0);
  });
}

std::vector<RowChange> changes_of(const std::map<std::string, ComparedTrace::Row>& a,
                                  const std::map<std::string, ComparedTrace::Row>& b, const UsualSpreads& spreads) {
  const ComparedTrace::Row nothing;
  const auto row_of = [&nothing](const auto& rows, const std::string& name) -> const ComparedTrace::Row& {
    const auto known = rows.find(name);
    return known == rows.end() ? nothing : known->second;
  };
  std::map<std::string, double> moved;
  for (const auto& [rows, sign] : {std::pair(&a, -1.0), std::pair(&b, 1.0)})
    for (const auto& [name, row] : *rows)
      moved[name] += sign * std::accumulate(row.values[0].begin(), row.values[0].end(), 0.0);
  std::vector<RowChange> changes;
  for (const auto& [name, by] : moved) {
    RowChange change{name, {}};
    const auto known = spreads.find(name);
    for (std::size_t i = 0; i < kMeasures.size(); ++i)
      change.measures[i] = change_of(row_of(a, name).values[i], row_of(b, name).values[i],
                                     known == spreads.end() ? std::nullopt : known->second[i]);
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [&](const RowChange& x, const RowChange& y) {
    return std::abs(moved[x.name]) > std::abs(moved[y.name]);
  });
  return changes;
}

std::string compare_json(const std::vector<RowChange>& steps, const std::vector<RowChange>& tools) {
  std::string text;
  JsonBuilder json(text);
  const auto put_row = [&](const RowChange& row) {
    json.object([&] {
      json.put("name", row.name);
      for (const Measure measure : kMeasures) {
        const MeasureChange& change = row.of(measure);
        json.object(name_of(measure), [&] {
          json.put("n_a", change.n_a);
          json.put("n_b", change.n_b);
          json.put("median_a", change.median_a);
          json.put("median_b", change.median_b);
          json.put("change", change.change);
          json.put("p", change.p);
          json.put("spread", change.spread);
          json.put("verdict", std::string(to_string(change.verdict)));
          json.put("may_be_noise", change.may_be_noise);
        });
      }
    });
  };
  json.object([&] {
    json.list("steps", steps, put_row);
    json.list("tools", tools, put_row);
  });
  return text + '\n';
}

}  // namespace tracer::internal
