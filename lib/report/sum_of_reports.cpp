// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <tracer/report.hpp>

#include "base/sums.hpp"
#include "report/bound_by.hpp"
#include "report/parallelism.hpp"
#include "report/report_sums.hpp"
#include "report/requested_use.hpp"
#include "report/row_figures.hpp"
#include "report/sums/finding_list.hpp"
#include "report/sums/rows.hpp"
#include "report/sums/run_folder.hpp"
#include "report/sums/touched.hpp"
#include "report/task_names.hpp"

namespace tracer {
namespace {

using Bounded = std::optional<Figure>;

/// A figure that is not known makes the sum a lower bound, to which an upper bound adds nothing.
Bounded sum(const Bounded& a, const Bounded& b) {
  const auto is = [](const Bounded& figure, Bound bound) { return figure && figure->bound == bound; };
  const bool at_least = !a || !b || is(a, Bound::kAtLeast) || is(b, Bound::kAtLeast);
  const bool at_most = is(a, Bound::kAtMost) || is(b, Bound::kAtMost);
  if (!at_least) return Figure{a->value + b->value, at_most ? Bound::kAtMost : Bound::kExact};
  std::uint64_t least = 0;
  for (const Bounded* each : {&a, &b})
    if (*each && (*each)->bound != Bound::kAtMost) least += (*each)->value;
  return least == 0 ? std::nullopt : Bounded(Figure{least, Bound::kAtLeast});
}

Bounded larger(const Bounded& a, const Bounded& b) {
  if (!a || !b) {
    Bounded known = a ? a : b;
    if (known) known->bound = Bound::kAtLeast;
    return known;
  }
  Figure most = a->value >= b->value ? *a : *b;
  if (a->bound == Bound::kAtLeast || b->bound == Bound::kAtLeast) most.bound = Bound::kAtLeast;
  return most;
}

std::optional<std::uint64_t> most_of(const ReportRow& row) {
  if (row.memory_bytes && row.memory_bytes->bound == Bound::kExact) return row.memory_bytes->value;
  return row.memory_at_most_bytes;
}

/// That of the larger one, by each bound.
void add_peak(ReportRow& row, const ReportRow& more) {
  // Where tasks wait, and nothing has run, nothing is unknown.
  const auto only_waits = [](const ReportRow& of) {
    return of.processes == 0 && !of.memory_bytes && of.queued + of.elsewhere + of.withdrawn + of.expired != 0;
  };
  if (only_waits(more)) return;
  if (only_waits(row)) {
    row.memory_bytes = more.memory_bytes;
    row.memory_at_most_bytes = more.memory_at_most_bytes;
    return;
  }
  const auto a = most_of(row);
  const auto b = most_of(more);
  row.memory_at_most_bytes.reset();
  row.memory_bytes = larger(row.memory_bytes, more.memory_bytes);
  if (!a || !b) return;
  const std::uint64_t most = std::max(*a, *b);
  if (row.memory_bytes->value == most) {
    row.memory_bytes->bound = Bound::kExact;
  } else if (row.memory_bytes->bound == Bound::kAtLeast) {
    row.memory_at_most_bytes = most;
  }
}

std::vector<TimeShare> sum(std::vector<TimeShare> all, const std::vector<TimeShare>& more) {
  const auto lived = [](const std::vector<TimeShare>& shares) {
    double time = 0;
    double part = 0;
    for (const TimeShare& each : shares) time += static_cast<double>(each.time_ns), part += each.share;
    return part > 0 ? time / part : 0;
  };
  const double life_ns = lived(all) + lived(more);
  for (const TimeShare& each : more) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const TimeShare& a) { return a.cause == each.cause; });
    if (same == all.end()) {
      all.push_back(each);
    } else {
      same->time_ns += each.time_ns;
    }
  }
  for (TimeShare& each : all) each.share = life_ns > 0 ? static_cast<double>(each.time_ns) / life_ns : 0;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return all;
}

/// How many threads ran at once: of both, by how much each of them ran.
std::optional<double> concurrency_of(const ReportRow& a, const ReportRow& b) {
  const auto running = [](const ReportRow& row) {
    return row.concurrency && row.cpu_ns && *row.concurrency > 0
               ? static_cast<double>(row.cpu_ns->value) / *row.concurrency
               : 0;
  };
  const double ran = running(a) + running(b);
  if (ran <= 0) return a.concurrency ? a.concurrency : b.concurrency;
  double cpu = 0;
  for (const ReportRow* each : {&a, &b})
    if (running(*each) > 0) cpu += static_cast<double>(each->cpu_ns->value);
  return cpu / ran;
}

using internal::add_row;

std::uint64_t cpu_of(const ReportRow& row) { return row.cpu_ns ? row.cpu_ns->value : 0; }
bool has_more_cpu(const ReportRow& a, const ReportRow& b) { return cpu_of(a) > cpu_of(b); }
bool began_first(const ReportRow& a, const ReportRow& b) { return a.first_start_ns < b.first_start_ns; }

const ReportRow& row_in(const ReportRow& row) { return row; }
const ReportRow& row_in(const ReportNode& node) { return node.row; }
SummaryLevel level_of(const ReportRow&) { return SummaryLevel::kTool; }
SummaryLevel level_of(const ReportNode& node) { return node.level; }

/// Tasks by their context, as their names may tell more on one machine than on another; all else by name and context.
struct IsBefore {
  using is_transparent = void;

  template <class Item>
  bool operator()(const Item* a, const Item* b) const {
    if (level_of(*a) != level_of(*b)) return level_of(*a) < level_of(*b);
    const ReportRow& left = row_in(*a);
    const ReportRow& right = row_in(*b);
    if (level_of(*a) == SummaryLevel::kTask || left.name == right.name)
      return identity(left.task) < identity(right.task);
    return left.name < right.name;
  }

 private:
  /// Each machine may give it labels of its own, such as its container.
  static auto identity(const Context& of) {
    return std::tie(of.run_key, of.task_key, of.pipeline, of.run, of.step, of.sample, of.task, of.task_id, of.attempt,
                    of.engine, of.run_id, of.within, of.owner_uid);
  }
};

/// Calls `add` with each item and the one of `more` that is the same; others are taken over.
template <class Item, class Add>
void join(std::vector<Item>& items, const std::vector<Item>& more, Add add) {
  items.reserve(items.size() + more.size());  // So that they stay where they are.
  std::set<Item*, IsBefore> known;
  for (Item& item : items) known.insert(&item);
  for (const Item& each : more) {
    const auto same = known.find(&each);
    if (same != known.end()) {
      add(**same, each);
    } else {
      items.push_back(each);
      known.insert(&items.back());
    }
  }
}

void add_rows(std::vector<ReportRow>& rows, const std::vector<ReportRow>& more,
              bool (*before)(const ReportRow&, const ReportRow&)) {
  join(rows, more, [](ReportRow& row, const ReportRow& each) { add_row(row, each); });
  std::stable_sort(rows.begin(), rows.end(), before);
}

void add_nodes(std::vector<ReportNode>& nodes, const std::vector<ReportNode>& more) {
  join(nodes, more, [](ReportNode& node, const ReportNode& each) {
    add_row(node.row, each.row);
    add_nodes(node.below, each.below);
  });
  std::stable_sort(nodes.begin(), nodes.end(), [](const ReportNode& a, const ReportNode& b) {
    const bool tools = a.level >= SummaryLevel::kTool;
    if (tools != (b.level >= SummaryLevel::kTool)) return !tools;
    return tools ? has_more_cpu(a.row, b.row) : a.row.wall_ns > b.row.wall_ns;
  });
}

void add(Completeness& certificate, const Completeness& more) {
  certificate.complete = certificate.complete && more.complete;
  certificate.exits_seen += more.exits_seen;
  if (certificate.ended && more.ended) {
    *certificate.ended += *more.ended;
  } else {
    certificate.ended.reset();
  }
  internal::add_damage(certificate.damage, more.damage);
  certificate.rows_are_whole = certificate.rows_are_whole && more.rows_are_whole;
  for (const auto& [cause, count] : more.losses) certificate.losses[cause] += count;
  certificate.total_is_whole = certificate.total_is_whole && more.total_is_whole;
  certificate.attached += more.attached;
  certificate.cpu_before_ns += more.cpu_before_ns;
  for (const auto& [daemon, calls] : more.handed_over) certificate.handed_over[daemon] += calls;
  if (more.missed_at_most) certificate.missed_at_most = certificate.missed_at_most.value_or(0) + *more.missed_at_most;
  for (const FamilyState& state : more.missing) {
    const bool known = std::any_of(certificate.missing.begin(), certificate.missing.end(),
                                   [&](const FamilyState& one) { return one.family == state.family; });
    if (!known) certificate.missing.push_back(state);
  }
}

/// Both are in the order of the alphabet.
void add_types(std::vector<std::string>& types, const std::vector<std::string>& more) {
  std::vector<std::string> all;
  std::set_union(types.begin(), types.end(), more.begin(), more.end(), std::back_inserter(all));
  types = std::move(all);
}

void add_figure(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
  if (sum && more) {
    *sum += *more;
  } else {
    sum.reset();
  }
}

void add(ReportCost& cost, const ReportCost& more) {
  add_figure(cost.cpu_ns, more.cpu_ns);
  add_figure(cost.snapshots_cpu_ns, more.snapshots_cpu_ns);
  add_figure(cost.kernel_ns, more.kernel_ns);
  add_figure(cost.memory_bytes, more.memory_bytes);
  add_figure(cost.kernel_memory_bytes, more.kernel_memory_bytes);
  add_figure(cost.start_cpu_ns, more.start_cpu_ns);
  cost.cpu_share.reset();
}

/// On another clock.
std::uint64_t moved_by(std::uint64_t time_ns, std::int64_t by_ns) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(time_ns) + by_ns);
}

/// What begins and ends, likewise.
void move_times(ReportRow& row, std::int64_t by_ns) {
  if (row.first_start_ns == 0) return;
  row.first_start_ns = moved_by(row.first_start_ns, by_ns);
  row.last_end_ns = moved_by(row.last_end_ns, by_ns);
}

/// Of a run whose tasks ran on several machines no path is known: each has seen a part.
std::vector<CriticalPath> paths_of(const std::vector<Report>& reports,
                                   const std::vector<std::int64_t>& wall_offsets_ns) {
  std::map<Key, std::size_t> times_seen;
  for (const Report& report : reports)
    for (const CriticalPath& path : report.critical_paths) ++times_seen[path.run_key];
  std::vector<CriticalPath> all;
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const CriticalPath& path : reports[i].critical_paths) {
      if (times_seen[path.run_key] > 1) continue;
      all.push_back(path);
      for (PathTask& task : all.back().tasks) {
        task.begin_ns = moved_by(task.begin_ns, wall_offsets_ns[i] - wall_offsets_ns.front());
        task.end_ns = moved_by(task.end_ns, wall_offsets_ns[i] - wall_offsets_ns.front());
      }
    }
  return all;
}

void move_times(Finding& finding, std::int64_t by_ns) {
  for (std::uint64_t* time : {&finding.time_ns, &finding.first_ns, &finding.last_ns})
    if (*time != 0) *time = moved_by(*time, by_ns);
}

void move_times(std::vector<ReportNode>& nodes, std::int64_t by_ns) {
  for (ReportNode& node : nodes) {
    move_times(node.row, by_ns);
    move_times(node.below, by_ns);
  }
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

namespace internal {

void add_row(ReportRow& row, const ReportRow& more) {
  // A task that waits here has begun there.
  if (!more.submitted.state.empty()) return;
  if (!row.submitted.state.empty()) {
    row = more;
    return;
  }
  row.concurrency = concurrency_of(row, more);
  // Before the sums, which tell what has run.
  add_peak(row, more);
  each_row_figure([&]<class T>(const RowFigure<T>& figure) {
    if (figure.together != Together::kSum) return;
    T& value = row.*figure.member;
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      value += more.*figure.member;
    } else if constexpr (std::is_same_v<T, Figure>) {
      value = sum(value, more.*figure.member).value_or(Figure{0, Bound::kAtLeast});
    } else if constexpr (std::is_same_v<T, std::optional<Figure>>) {
      value = sum(value, more.*figure.member);
    }
  });
  row.time = sum(std::move(row.time), more.time);
  if (row.task_ledger && more.task_ledger) {
    add_figures(*row.task_ledger, *more.task_ledger, Unknown::kSpreads);
  } else {
    row.task_ledger.reset();
  }
  row.waits_for.clear();
  row.parallelism = parallelism_of(row);
  set_bound(row);
  if (row.requested == Requested{}) row.requested = more.requested;
  if (more.first_start_ns != 0)
    row.first_start_ns =
        row.first_start_ns == 0 ? more.first_start_ns : std::min(row.first_start_ns, more.first_start_ns);
  row.last_end_ns = std::max(row.last_end_ns, more.last_end_ns);
  row.wall_ns = std::max({row.wall_ns, more.wall_ns, row.last_end_ns - row.first_start_ns});
  if (more.processes_bound != Bound::kExact) row.processes_bound = more.processes_bound;
  if (more.wall_bound != Bound::kExact) row.wall_bound = more.wall_bound;
  row.cpu_utilization = utilization_of(row);
}

void add_damage(RecordingDamage& damage, const RecordingDamage& more) {
  damage.skipped_bytes += more.skipped_bytes;
  damage.skipped_events += more.skipped_events;
  damage.missing_frames += more.missing_frames;
  if (damage.read_error == 0) damage.read_error = more.read_error;
  damage.truncated = damage.truncated || more.truncated;
}

namespace {

void set_submitted(ReportRow& row, const std::vector<ReportNode>& below) {
  row.queued = row.elsewhere = row.withdrawn = row.expired = row.queued_ns = 0;
  for (const ReportNode& each : below) add_submitted(row, each.row);
}

}  // namespace

void count_tasks(Report& report) {
  count_tasks(report.tree);
  set_submitted(report.total, report.tree);
}

void count_tasks(std::vector<ReportNode>& nodes) {
  for (ReportNode& node : nodes) {
    if (node.level >= SummaryLevel::kTask) continue;
    count_tasks(node.below);
    set_submitted(node.row, node.below);
    Figure tasks;
    for (const ReportNode& each : node.below) {
      if (each.level == SummaryLevel::kTask) ++tasks.value;
      if (each.row.name == kOtherTasks) tasks.bound = Bound::kAtLeast;
      if (each.level != SummaryLevel::kStep || !each.row.tasks) continue;
      tasks.value += each.row.tasks->value;
      if (each.row.tasks->bound != Bound::kExact) tasks.bound = Bound::kAtLeast;
    }
    node.row.tasks = tasks;
    // How many there were in these is not kept.
    if (node.level == SummaryLevel::kRun && node.row.task.run == kEarlierRuns) node.row.tasks.reset();
  }
}

}  // namespace internal

Report sum_of_reports(const std::vector<Report>& reports, const std::vector<std::int64_t>& wall_offsets_ns) {
  Report all = reports.front();
  for (std::size_t i = 1; i < reports.size(); ++i) {
    Report more = reports[i];
    const std::int64_t by_ns = wall_offsets_ns[i] - wall_offsets_ns.front();
    for (auto* rows : {&more.tools, &more.steps, &more.tasks, &more.samples, &more.processes})
      for (ReportRow& row : *rows) move_times(row, by_ns);
    move_times(more.tree, by_ns);
    move_times(more.total, by_ns);
    add_rows(all.tools, more.tools, has_more_cpu);
    add_rows(all.steps, more.steps, began_first);
    add_rows(all.tasks, more.tasks, began_first);
    add_rows(all.samples, more.samples, began_first);
    add_nodes(all.tree, more.tree);
    internal::name_tasks(all.tree);
    append(all.processes, more.processes);
    add_row(all.total, more.total);
    internal::count_tasks(all);
    all.answers += more.answers;
    all.excused.reader_had_enough += more.excused.reader_had_enough;
    all.excused.ended_by_starter += more.excused.ended_by_starter;
    for (Finding& finding : more.findings) move_times(finding, by_ns);
    if (!more.verdict.empty() && more.verdict != all.verdict)
      all.verdict += (all.verdict.empty() ? "" : "\n") + more.verdict;
    append(all.findings, more.findings);
    append(all.failures, more.failures);
    all.failures_seen += more.failures_seen;
    append(all.survivors, more.survivors);
    append(all.pipelines, more.pipelines);
    append(all.cgroups, more.cgroups);
    internal::add_busiest(all.files, more.files);
    internal::add_busiest(all.file_systems, more.file_systems);
    all.folder = internal::nearest_above(all.folder, more.folder);
    internal::add_busiest(all.peers, more.peers);
    internal::add_busiest(all.devices, more.devices);
    internal::add_busiest(all.gpus, more.gpus);
    add_types(all.instance_types, more.instance_types);
    add(all.completeness, more.completeness);
    add(all.cost, more.cost);
  }
  // Where all lack something, their rows say it already.
  const auto is_whole = [](const Report& report) { return report.completeness.rows_are_whole; };
  if (std::any_of(reports.begin(), reports.end(), is_whole)) internal::bound_rows(all, true);
  internal::set_requested_use(all.tree);
  all.critical_paths = paths_of(reports, wall_offsets_ns);
  internal::rank(all.findings);
  std::stable_sort(all.processes.begin(), all.processes.end(), has_more_cpu);
  return all;
}

}  // namespace tracer
