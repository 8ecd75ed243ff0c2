// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/order_statistics.hpp"
#include "history/rows.hpp"
#include "report/json_builder.hpp"
#include "report/time_shares.hpp"

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
/// Of the wall time of a side: what is less in both explains nothing.
constexpr double kLeastShare = 0.01;

std::optional<double> value_of(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

using Values = std::array<std::optional<double>, kMeasures.size()>;

template <class Ended>
double lived_ns(const Ended& ended) {
  return static_cast<double>(ended.end_ns - std::min(ended.begin_ns, ended.end_ns));
}

void put(ComparedRow& row, const Values& values, const std::vector<TimeShare>& time) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) row.values[i].push_back(*values[i]);
  for (const TimeShare& each : time) row.time_ns[each.cause] += static_cast<double>(each.time_ns);
  row.time_is_whole = row.time_is_whole && !time.empty();
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
  summary_.add(event);
  if (const auto* finish = event.get_if<TaskFinish>()) {
    const Context& context = *finish->context;
    if (!context.task_key) return;
    runs_[context.run_key].saw_task(context);
    const Account& account = finish->totals.account;
    const auto peak = finish->totals.peak_bytes ? finish->totals.peak_bytes : finish->totals.peak_at_least_bytes;
    tasks_.insert_or_assign(static_cast<std::uint64_t>(*context.task_key),
                            Task{context.step,
                                 context.run_key,
                                 is_failure(outcome_of(*finish, false)),
                                 {lived_ns(*finish), value_of(account.cpu_ns), value_of(peak),
                                  value_of(account.read_bytes), value_of(account.written_bytes)},
                                 finish->task_ledger});
  } else if (const auto* run = event.get_if<RunFinish>()) {
    runs_[run->context->run_key].finished(*run);
    if (lived_ns(*run) >= lived_ns(run_)) run_ = *run;
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    const Program& program = *exit->process->program;
    if (exit->process->context->engine_own || !program.tool || exit->attached_ns) return;
    const Account& account = exit->account;
    ComparedRow& row = tools_[*program.tool];
    ++row.ended;
    put(row,
        {lived_ns(*exit), value_of(account.cpu_ns), value_of(account.peak_rss_bytes), value_of(account.read_bytes),
         value_of(account.written_bytes)},
        time_shares(account.process_ledger, account.ledger));
  }
}

ComparedSide ComparedTrace::side() const {
  ComparedSide side;
  side.wall_ns = static_cast<double>(summary_.total().wall_ns);
  if (2 * lived_ns(run_) > side.wall_ns) side.outcome = to_string(outcome_of(run_, false));
  for (const auto& [key, task] : tasks_) {
    if (!runs_.at(task.run).count()) continue;
    ++side.tasks;
    side.failed_tasks += task.failed ? 1 : 0;
    if (!task.step) continue;
    ComparedRow& row = side.steps[*task.step];
    ++row.ended;
    row.failed += task.failed ? 1 : 0;
    if (!task.failed) put(row, task.values, task.ledger ? time_shares(*task.ledger) : std::vector<TimeShare>());
  }
  side.tools = tools_;
  for (const SummaryRow& tool : summary_.by_tool())
    if (const auto known = side.tools.find(tool.name); known != side.tools.end())
      known->second.failed = std::min(tool.failed, known->second.ended);
  return side;
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

MeasureChange change_of(const std::vector<double>& a, const std::vector<double>& b, std::optional<double> spread,
                        bool of_sums) {
  MeasureChange change{a.size(), b.size()};
  if (!a.empty()) change.median_a = median_of(a);
  if (!b.empty()) change.median_b = median_of(b);
  change.sum_a = std::accumulate(a.begin(), a.end(), 0.0);
  change.sum_b = std::accumulate(b.begin(), b.end(), 0.0);
  if (a.empty() || b.empty()) return change;
  change.of_sums = of_sums;
  const double from = of_sums ? change.sum_a : *change.median_a;
  const double to = of_sums ? change.sum_b : *change.median_b;
  if (from > 0) change.change = to / from - 1;
  const auto verdict = [&](double least) {
    if (std::abs(to - from) <= least * from) return ChangeVerdict::kSame;
    return to > from ? ChangeVerdict::kMore : ChangeVerdict::kLess;
  };
  const bool few = std::min(a.size(), b.size()) < kLeastTested;
  if (few && spread && !of_sums) {
    change.spread = spread;
    change.verdict = std::abs(to - from) > kLeastSpreads * *spread ? verdict(kLeastChange) : ChangeVerdict::kSame;
    return change;
  }
  if (few || of_sums) {
    change.may_be_noise = few;
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

namespace {

/// Of the mean, or with of_sums of the sum.
void explain(RowChange& row, const ComparedRow& a, const ComparedRow& b) {
  const MeasureChange& wall = row.of(Measure::kWall);
  if (!wall.change || !a.time_is_whole || !b.time_is_whole) return;
  const double n_a = wall.of_sums ? 1 : static_cast<double>(wall.n_a);
  const double n_b = wall.of_sums ? 1 : static_cast<double>(wall.n_b);
  const double moved_ns = wall.sum_b / n_b - wall.sum_a / n_a;
  std::map<TimeCause, double> by_ns;
  for (const auto& [cause, ns] : a.time_ns) by_ns[cause] -= ns / n_a;
  for (const auto& [cause, ns] : b.time_ns) by_ns[cause] += ns / n_b;
  for (const auto& [cause, ns] : by_ns)
    if (ns * moved_ns > 0 && std::abs(ns) > std::abs(moved_ns) / 2 && std::abs(ns) > std::abs(row.cause_ns)) {
      row.cause = cause;
      row.cause_ns = ns;
    }
}

RowChange change_of_row(const std::string& name, const ComparedRow& a, const ComparedRow& b,
                        const UsualSpreads& spreads) {
  RowChange row{name, a.ended, b.ended, a.failed, b.failed};
  const auto known = spreads.find(name);
  const std::size_t n_a = a.values[0].size();
  const std::size_t n_b = b.values[0].size();
  // Of tools, values don't tell which of them failed.
  const bool is_unclear = a.failed != b.failed && n_a + n_b == a.ended + b.ended;
  const bool of_sums = n_a != n_b && a.ended != b.ended;
  for (std::size_t i = 0; i < kMeasures.size(); ++i) {
    const bool all_known = a.values[i].size() == n_a && b.values[i].size() == n_b;
    MeasureChange& change = row.measures[i];
    change = change_of(a.values[i], b.values[i], known == spreads.end() ? std::nullopt : known->second[i],
                       of_sums && all_known && kMeasures[i] != Measure::kPeak);
    if (is_unclear) change = {change.n_a, change.n_b, change.median_a, change.median_b, change.sum_a, change.sum_b};
  }
  explain(row, a, b);
  return row;
}

std::vector<RowChange> changes_of(const ComparedSide& a, const ComparedSide& b, ComparedRows ComparedSide::*rows,
                                  const UsualSpreads& spreads) {
  std::map<std::string, std::pair<ComparedRow, ComparedRow>> both;
  for (const auto& [name, row] : a.*rows) both[name].first = row;
  for (const auto& [name, row] : b.*rows) both[name].second = row;
  std::vector<RowChange> changes;
  for (const auto& [name, row] : both) {
    RowChange change = change_of_row(name, row.first, row.second, spreads);
    const MeasureChange& wall = change.of(Measure::kWall);
    if (wall.sum_a >= kLeastShare * a.wall_ns || wall.sum_b >= kLeastShare * b.wall_ns ||
        change.failed_a != change.failed_b)
      changes.push_back(std::move(change));
  }
  const auto moved = [](const RowChange& row) {
    return std::abs(row.of(Measure::kWall).sum_b - row.of(Measure::kWall).sum_a);
  };
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& x, const auto& y) { return moved(x) > moved(y); });
  return changes;
}

}  // namespace

Comparison compare(ComparedSide a, ComparedSide b, const UsualSpreads& spreads) {
  Comparison compared{std::move(a), std::move(b)};
  compared.steps = changes_of(compared.a, compared.b, &ComparedSide::steps, spreads);
  compared.tools = changes_of(compared.a, compared.b, &ComparedSide::tools, {});
  return compared;
}

ComparedSide side_of(RecordingReader& reader) {
  ComparedTrace trace;
  while (const auto event = reader.next()) trace.add(*event);
  return trace.side();
}

std::string compare_json(const Comparison& compared) {
  std::string text;
  JsonBuilder json(text);
  const auto put_side = [&](const char* name, const ComparedSide& side) {
    json.object(name, [&] {
      json.put("wall_ns", side.wall_ns);
      json.put("outcome", side.outcome);
      json.put("tasks", side.tasks);
      json.put("failed_tasks", side.failed_tasks);
    });
  };
  const auto put_row = [&](const RowChange& row) {
    json.object([&] {
      json.put("name", row.name);
      json.put("n_a", row.n_a);
      json.put("n_b", row.n_b);
      json.put("failed_a", row.failed_a);
      json.put("failed_b", row.failed_b);
      if (row.cause) {
        json.put("cause", std::string(to_string(*row.cause)));
        json.put("cause_change_ns", row.cause_ns);
      }
      for (const Measure measure : kMeasures) {
        const MeasureChange& change = row.of(measure);
        json.object(name_of(measure), [&] {
          json.put("n_a", change.n_a);
          json.put("n_b", change.n_b);
          json.put("median_a", change.median_a);
          json.put("median_b", change.median_b);
          json.put("sum_a", change.sum_a);
          json.put("sum_b", change.sum_b);
          json.put("of_sums", change.of_sums);
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
    put_side("a", compared.a);
    put_side("b", compared.b);
    json.list("steps", compared.steps, put_row);
    json.list("tools", compared.tools, put_row);
  });
  return text + '\n';
}

}  // namespace tracer::internal
