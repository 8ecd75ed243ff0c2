// SPDX-License-Identifier: Apache-2.0
#include "report/brief.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "report/report_sums.hpp"
#include "report/sums/rows.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostOutermost = 5;
constexpr std::size_t kMostSteps = 9;
constexpr std::size_t kMostFailed = 3;
constexpr std::size_t kMostSlowest = 2;
/// So few tasks of a step have a row each.
constexpr std::size_t kFewTasks = 4;
/// A slower or hungrier task than others is worth a row from so many times the median.
constexpr double kNotable = 1.25;
/// Of the CPU time of all: what has less and is no task is not worth a row.
constexpr double kWorthRow = 0.01;
/// Of the CPU time of its step: a tool that has more is the step.
constexpr double kAllOfStep = 0.95;
constexpr std::size_t kLeastId = 8;

std::uint64_t cpu_of(const ReportRow& row) { return row.cpu_ns ? row.cpu_ns->value : 0; }
std::uint64_t memory_of(const ReportRow& row) { return row.memory_bytes ? row.memory_bytes->value : 0; }

/// The most that it may have held.
std::uint64_t most_memory_of(const ReportRow& row) {
  if (row.memory_bytes && row.memory_bytes->bound == Bound::kExact) return row.memory_bytes->value;
  return row.memory_at_most_bytes.value_or(std::numeric_limits<std::uint64_t>::max());
}

bool is_id(std::string_view word) {
  // A date is none.
  const bool digits = word.find_first_of("0123456789") != std::string_view::npos;
  const bool letters = word.find_first_of("abcdefABCDEF") != std::string_view::npos;
  return word.size() >= kLeastId && digits && letters &&
         word.find_first_not_of("0123456789abcdefABCDEF-_") == std::string_view::npos;
}

/// Words that only an engine understands are left out.
std::string without_ids(std::string_view name) {
  std::string kept;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find(' ', at), name.size());
    if (const std::string_view word = name.substr(at, end - at); !word.empty() && !is_id(word))
      kept.append(kept.empty() ? "" : " ").append(word);
    at = end + 1;
  }
  return kept;
}

std::string shown_name(const ReportNode& node) {
  if (node.level != SummaryLevel::kRun) return node.row.name;
  const std::string name = without_ids(node.row.name);
  return name.empty() ? node.row.task.engine.value_or("this run") : name;
}

/// A node that may get a row, with those below it.
struct Candidate {
  BriefRow shown;
  std::vector<std::unique_ptr<Candidate>> below = {};
  bool kept = false;
  bool is_quiet = false;  ///< It cost nothing.
};

class Brief {
 public:
  Brief(const Report& report, std::size_t most) : total_cpu_ns_(cpu_of(report.total)), room_(most) {
    for (const ReportNode& node : report.tree) outermost_.push_back(candidate_of(node, 0));
    keep_largest(outermost_, kMostOutermost);
    for (const auto& run : outermost_)
      if (run->kept) keep_largest(run->below, kMostSteps);
    for (const Worth worth : {Worth::kFailed, Worth::kSlowest, Worth::kHungriest}) keep_tasks(worth);
    keep_tools();
    keep_tasks(Worth::kNothing);
  }

  std::vector<BriefRow> rows() const {
    std::vector<BriefRow> rows;
    append(rows, outermost_);
    return rows;
  }

 private:
  using Candidates = std::vector<std::unique_ptr<Candidate>>;

  static std::unique_ptr<Candidate> bare(const ReportNode& node, std::size_t depth) {
    auto made = std::make_unique<Candidate>();
    made->shown.level = node.level;
    made->shown.depth = depth;
    made->shown.row = node.row;
    made->shown.row.name = shown_name(node);
    return made;
  }

  std::unique_ptr<Candidate> candidate_of(const ReportNode& node, std::size_t depth) {
    std::unique_ptr<Candidate> made = bare(node, depth);
    made->is_quiet = static_cast<double>(cpu_of(node.row)) < kWorthRow / 10 * static_cast<double>(total_cpu_ns_) &&
                     node.row.failed.value == 0;
    if (node.level >= SummaryLevel::kTask) return made;
    for (const ReportNode& each : node.below)
      if (each.level == SummaryLevel::kStep) made->below.push_back(candidate_of(each, depth + 1));
    const bool has_steps = !made->below.empty();
    std::vector<const ReportNode*> tasks;
    tasks_of(node, tasks);
    compare_walls(made->shown, tasks);
    // Of a run with steps, what is in none.
    std::erase_if(tasks, [&](const ReportNode* task) { return has_steps && task->row.task.step.has_value(); });
    add_tools(*made, node, tasks);
    add_tasks(*made, tasks);
    return made;
  }

  static void tasks_of(const ReportNode& node, std::vector<const ReportNode*>& tasks) {
    for (const ReportNode& each : node.below) {
      // What waits has used nothing.
      if (each.level == SummaryLevel::kTask && each.row.submitted.state.empty()) tasks.push_back(&each);
      if (each.level == SummaryLevel::kStep) tasks_of(each, tasks);
    }
  }

  static void compare_walls(BriefRow& shown, const std::vector<const ReportNode*>& tasks) {
    if (!shown.row.tasks || shown.row.tasks->bound != Bound::kExact) return;
    std::vector<std::uint64_t> walls_ns;
    Figure largest;
    for (const ReportNode* task : tasks) {
      const ReportRow& row = task->row;
      if (row.living == 0) walls_ns.push_back(row.wall_ns);
      if (row.wall_ns > largest.value) largest = {row.wall_ns, row.living == 0 ? Bound::kExact : Bound::kAtLeast};
    }
    if (walls_ns.empty()) return;
    const auto middle = walls_ns.begin() + static_cast<std::ptrdiff_t>(walls_ns.size() / 2);
    std::nth_element(walls_ns.begin(), middle, walls_ns.end());
    std::uint64_t median_ns = *middle;
    // Of an even number, the mean of the two in the middle.
    if (walls_ns.size() % 2 == 0) median_ns -= (median_ns - *std::max_element(walls_ns.begin(), middle)) / 2;
    shown.median_wall_ns = Figure{median_ns, Bound::kExact};
    shown.largest_wall_ns = largest;
  }

  /// Each tool once, summed over the tasks; the engine's own work in one row.
  void add_tools(Candidate& above, const ReportNode& node, const std::vector<const ReportNode*>& tasks) {
    std::map<std::pair<SummaryLevel, std::string>, ReportRow> tools;
    const auto collect = [&tools](const ReportNode& from) {
      for (const ReportNode& each : from.below) {
        if (each.level < SummaryLevel::kTool) continue;
        const auto [at, fresh] = tools.try_emplace({each.level, each.row.name}, each.row);
        if (!fresh) add_row(at->second, each.row);
      }
    };
    collect(node);
    for (const ReportNode* task : tasks) collect(*task);
    for (auto& [key, row] : tools) {
      auto made = std::make_unique<Candidate>();
      made->shown.level = key.first;
      made->shown.depth = above.shown.depth + 1;
      made->shown.row = std::move(row);
      above.below.push_back(std::move(made));
    }
  }

  void add_tasks(Candidate& above, std::vector<const ReportNode*> tasks) {
    std::erase_if(tasks, [](const ReportNode* task) { return task->row.name == kOtherTasks; });
    // The only one is the step itself.
    if (tasks.size() < 2) return;
    const bool few = tasks.size() <= kFewTasks;
    const auto take = [&](Worth worth, std::size_t most, auto value, auto wanted) {
      std::stable_sort(tasks.begin(), tasks.end(),
                       [&](const ReportNode* a, const ReportNode* b) { return value(a->row) > value(b->row); });
      std::size_t taken = 0;
      for (auto each = tasks.begin(); each != tasks.end() && taken < most && wanted((*each)->row);) {
        above.below.push_back(bare(**each, above.shown.depth + 1));
        above.below.back()->shown.worth = worth;
        each = tasks.erase(each);
        ++taken;
      }
    };
    const auto median = [&tasks](auto value) {
      std::vector<std::uint64_t> values;
      for (const ReportNode* task : tasks) values.push_back(value(task->row));
      std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
      return static_cast<double>(values[values.size() / 2]);
    };
    const auto wall = [](const ReportRow& row) { return row.wall_ns; };
    const double usual_wall = median(wall);
    // By the upper bounds: a task whose samples came late is no smaller one.
    const double usual_memory = median(most_memory_of);
    take(
        Worth::kFailed, kMostFailed, [](const ReportRow& row) { return row.failed.value; },
        [](const ReportRow& row) { return row.failed.value != 0; });
    take(Worth::kSlowest, kMostSlowest, wall,
         [&](const ReportRow& row) { return static_cast<double>(row.wall_ns) > kNotable * usual_wall; });
    take(Worth::kHungriest, 1, memory_of,
         [&](const ReportRow& row) { return static_cast<double>(memory_of(row)) > kNotable * usual_memory; });
    if (few) take(Worth::kNothing, kFewTasks, wall, [](const ReportRow&) { return true; });
  }

  /// Those runs or steps that failed, and those with most CPU time, in the order of their starts.
  void keep_largest(Candidates& all, std::size_t most) {
    std::vector<Candidate*> nodes;
    for (const auto& each : all)
      if (each->shown.level < SummaryLevel::kTask || each->shown.depth == 0) nodes.push_back(each.get());
    std::stable_sort(nodes.begin(), nodes.end(), [](const Candidate* a, const Candidate* b) {
      const bool fails = a->shown.row.failed.value != 0;
      if (fails != (b->shown.row.failed.value != 0)) return fails;
      return cpu_of(a->shown.row) > cpu_of(b->shown.row);
    });
    std::size_t kept = 0;
    for (Candidate* each : nodes) {
      if (each->is_quiet || kept == most || room_ <= 1) break;
      each->kept = true;
      ++kept, --room_;
    }
    if (kept < nodes.size() && room_ > 0) --room_;
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      const bool tools = a->shown.level >= SummaryLevel::kTask;
      if (tools != (b->shown.level >= SummaryLevel::kTask)) return !tools;
      return !tools && a->shown.row.first_start_ns < b->shown.row.first_start_ns;
    });
  }

  template <class Visit>
  static void for_each_kept(const Candidates& all, const Visit& visit) {
    for (const auto& each : all) {
      if (!each->kept) continue;
      visit(*each);
      for_each_kept(each->below, visit);
    }
  }

  /// Those below a row that is kept, by what makes them worth one.
  template <class Wanted>
  std::vector<Candidate*> below_kept(const Wanted& wanted) const {
    std::vector<Candidate*> found;
    for_each_kept(outermost_, [&](const Candidate& node) {
      for (const auto& each : node.below)
        if (!each->kept && wanted(node.shown, each->shown)) found.push_back(each.get());
    });
    return found;
  }

  void keep(std::vector<Candidate*> found, std::size_t most, std::uint64_t (*value)(const ReportRow&)) {
    std::stable_sort(found.begin(), found.end(), [value](const Candidate* a, const Candidate* b) {
      return value(a->shown.row) > value(b->shown.row);
    });
    for (std::size_t i = 0; i < std::min({found.size(), most, room_}); ++i) found[i]->kept = true;
    room_ -= std::min({found.size(), most, room_});
  }

  void keep_tasks(Worth worth) {
    std::size_t most = room_;
    std::uint64_t (*by)(const ReportRow&) = [](const ReportRow& row) { return row.wall_ns; };
    switch (worth) {
      case Worth::kFailed:
        most = kMostFailed;
        by = [](const ReportRow& row) { return row.failed.value; };
        break;
      case Worth::kSlowest: most = kMostSlowest; break;
      case Worth::kHungriest:
        most = 1;
        by = memory_of;
        break;
      case Worth::kNothing: break;
    }
    keep(below_kept([worth](const BriefRow&, const BriefRow& each) {
           return each.level == SummaryLevel::kTask && each.worth == worth;
         }),
         most, by);
  }

  void keep_tools() {
    const auto share = [](const ReportRow& row, std::uint64_t of_ns) {
      return of_ns == 0 ? 0 : static_cast<double>(cpu_of(row)) / static_cast<double>(of_ns);
    };
    keep(below_kept([&](const BriefRow& above, const BriefRow& each) {
           if (each.level < SummaryLevel::kTool) return false;
           if (share(each.row, total_cpu_ns_) < kWorthRow && each.row.failed.value == 0) return false;
           if (above.level != SummaryLevel::kStep) return true;
           return each.row.name != above.row.name && share(each.row, cpu_of(above.row)) < kAllOfStep;
         }),
         room_, cpu_of);
  }

  void append(std::vector<BriefRow>& rows, const Candidates& all) const {
    BriefRow left;
    for (const auto& each : all) {
      if (each->kept) {
        rows.push_back(each->shown);
        append_below(rows, *each);
      } else if (each->shown.level < SummaryLevel::kTask || each->shown.depth == 0) {
        leave_out(left, each->shown);
      }
    }
    if (left.left_out != 0) rows.push_back(std::move(left));
  }

  /// Its steps, then tools with the most CPU time first, the tasks worth naming, and the engine's own work.
  void append_below(std::vector<BriefRow>& rows, const Candidate& node) const {
    append(rows, node.below, SummaryLevel::kStep);
    append(rows, node.below, SummaryLevel::kTool);
    append(rows, node.below, SummaryLevel::kTask);
    append(rows, node.below, SummaryLevel::kEngine);
  }

  void append(std::vector<BriefRow>& rows, const Candidates& below, SummaryLevel level) const {
    std::vector<const Candidate*> wanted;
    BriefRow left;
    for (const auto& each : below) {
      if (each->shown.level != level) continue;
      if (each->kept) wanted.push_back(each.get());
      if (!each->kept && level == SummaryLevel::kStep) leave_out(left, each->shown);
    }
    if (level == SummaryLevel::kTool)
      std::stable_sort(wanted.begin(), wanted.end(), [](const Candidate* a, const Candidate* b) {
        return cpu_of(a->shown.row) > cpu_of(b->shown.row);
      });
    for (const Candidate* each : wanted) {
      rows.push_back(each->shown);
      append_below(rows, *each);
    }
    if (left.left_out != 0) rows.push_back(std::move(left));
  }

  static void leave_out(BriefRow& left, const BriefRow& shown) {
    if (left.left_out++ == 0) {
      left = shown;
      left.left_out = 1;
      left.worth = Worth::kNothing;
      return;
    }
    add_row(left.row, shown.row);
    left.median_wall_ns.reset(), left.largest_wall_ns.reset();
    if (!shown.row.tasks) return;
    if (!left.row.tasks) left.row.tasks = Figure{0, Bound::kExact};
    left.row.tasks->value += shown.row.tasks->value;
    if (shown.row.tasks->bound != Bound::kExact) left.row.tasks->bound = Bound::kAtLeast;
  }

  std::uint64_t total_cpu_ns_;
  std::size_t room_;
  Candidates outermost_;
};

}  // namespace

bool are_commands_alone(const std::vector<ReportNode>& tree) {
  return std::all_of(tree.begin(), tree.end(), [](const ReportNode& run) {
    return run.level == SummaryLevel::kRun && !run.row.task.pipeline &&
           run.row.task.provenance.run == Provenance::kInferred &&
           std::all_of(run.below.begin(), run.below.end(),
                       [](const ReportNode& each) { return each.level >= SummaryLevel::kTool; });
  });
}

std::vector<BriefRow> brief_rows(const Report& report, std::size_t most) {
  return are_commands_alone(report.tree) ? std::vector<BriefRow>{} : Brief(report, most).rows();
}

}  // namespace tracer::internal
