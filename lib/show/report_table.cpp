// SPDX-License-Identifier: Apache-2.0
#include "show/report_table.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "report/brief.hpp"
#include "base/quantities.hpp"
#include "report/report_sums.hpp"
#include "report/sums/summary_level.hpp"
#include "show/figures.hpp"
#include "show/grid.hpp"
#include "show/printable.hpp"
#include "show/process_names.hpp"
#include "show/row_texts.hpp"
#include "show/screen.hpp"
#include "show/short_names.hpp"
#include "show/time_bar.hpp"
#include "show/wrapped.hpp"

namespace tracer::internal {
namespace {

/// In the table that is shown unless other rows are asked for: it is read in ten seconds.
constexpr std::size_t kMostBrief = 15;
constexpr std::size_t kMostBriefFailed = 3;
/// Of tools; of those behind them the first with failures are shown besides.
constexpr std::size_t kMostRows = 20;
/// Of the nodes below one node of the tree; likewise.
constexpr std::size_t kMostBelow = 12;
/// Of runs, and what else is outermost; likewise.
constexpr std::size_t kMostOutermost = 100;
constexpr std::size_t kMostFailed = 20;
/// In a list that was asked for, and in the whole tree: longer lists are not read, and names come from untrusted
/// programs.
constexpr std::size_t kMostListed = 1000;

/// A process's name has its pid and a part of its command.
constexpr std::size_t kMoreOfProcess = 16;

/// What a table shows; the narrower it must be, the less.
struct Layout {
  std::size_t name_width = 36;
  std::size_t causes = 2;
  bool at_most = true;
  bool utilization = true;
  bool written = true;
  bool read = true;
  bool processes = true;
  bool spread = true;  ///< Median and largest wall of tasks.
  bool bar = true;
  bool tasks = true;
  bool memory = true;
  bool all = false;  ///< Figures that no narrower one has.
};

constexpr std::array<std::pair<std::string_view, By>, 7> kByNames = {{{"run", By::kRun},
                                                                      {"step", By::kStep},
                                                                      {"task", By::kTask},
                                                                      {"sample", By::kSample},
                                                                      {"tool", By::kTool},
                                                                      {"process", By::kProcess},
                                                                      {"tree", By::kTree}}};

/// From the widest to the narrowest: wall, CPU, memory and what failed stay longest, then where time went.
constexpr std::array<Layout, 15> kLayouts = {{
    {.all = true},
    {},
    {24, 2},
    {24, 2, false},
    {24, 2, false, false},
    {24, 2, false, false, false},
    {24, 2, false, false, false, false},
    {24, 1, false, false, false, false},
    {24, 1, false, false, false, false, false, false},
    {24, 1, false, false, false, false, false, false, false},
    {24, 0, false, false, false, false, false, false, false},
    {24, 0, false, false, false, false, false, false, false, false},
    {20, 0, false, false, false, false, false, false, false, false},
    {12, 0, false, false, false, false, false, false, false, false},
    {8, 0, false, false, false, false, false, false, false, false, false},
}};

class Table {
 public:
  /// `brief`: of the report, unless rows are asked for.
  Table(const Report& report, std::optional<By> by, std::span<const BriefRow> brief, const ShortNames& short_names,
        const Layout& layout)
      : layout_(layout), short_names_(short_names), total_(&report.total), failures_(report.total.failed.value != 0) {
    if (std::any_of(report.tasks.begin(), report.tasks.end(),
                    [](const ReportRow& row) { return row.task.attempt.value_or(1) > 1; }))
      tasks_head_ = "attempts";
    has_tasks_ =
        layout.tasks && std::any_of(brief.begin(), brief.end(), [](const BriefRow& row) { return count_of(row) > 0; });
    // Tools below them may be called like steps and tasks.
    says_level_ = brief.empty() ? !by || by == By::kTree
                                : std::any_of(brief.begin(), brief.end(),
                                              [](const BriefRow& row) { return row.level == SummaryLevel::kTool; });
    has_spread_ = std::any_of(brief.begin(), brief.end(), [](const BriefRow& row) { return count_of(row) > 1; });
    grid_ = Grid(columns());
    if (!brief.empty()) {
      add_heads("run, step, tool, task");
      for (const BriefRow& row : brief) {
        add(row);
        if (row.depth == 0) in_rows_ += row.row.processes;
      }
    } else if (by == By::kTree || (!by && !are_commands_alone(report.tree))) {
      add_heads("run, step, task, tool");
      add_nodes(report.tree, 0);
    } else {
      if (!by) most_rows_ = kMostBrief, most_failed_ = kMostBriefFailed;
      add_rows(report, by.value_or(By::kTool));
    }
    add(report.total);
    grid_.drop_empty_columns();
  }

  const Grid& grid() const { return grid_; }
  bool has_spread() const { return has_spread_; }
  const char* tasks_head() const { return tasks_head_; }
  /// Processes that its outermost rows add up to.
  std::uint64_t in_rows() const { return in_rows_; }

 private:
  std::vector<Align> columns() const {
    std::vector<Align> columns;
    const auto note = [&columns](Align align) {
      columns.push_back(align);
      return std::string();
    };
    choose(
        [&](Column column) {
          return note(column == Column::kName || column == Column::kWhere ? Align::kLeft : Align::kRight);
        },
        [&](const auto&) { return note(Align::kRight); });
    return columns;
  }
  bool spread() const { return has_spread_ && layout_.spread; }

  template <class F>
  static bool is(const F& figure, std::string_view name) {
    return figure.name == name;
  }
  /// What a column shows besides the figures of a row.
  enum class Column { kName, kTasks, kMedian, kLargest, kWhere };

  /// One that is in no list is shown where there is room for all.
  bool shows(std::string_view figure) const {
    if (figure == "processes") return layout_.processes;
    if (figure == "wall_ns" || figure == "cpu_ns") return true;
    if (figure == "cpu_utilization") return layout_.utilization;
    if (figure == "memory_bytes") return layout_.memory;
    if (figure == "read_bytes") return layout_.read;
    if (figure == "written_bytes") return layout_.written;
    if (figure == "failed") return failures_;
    return layout_.all;
  }

  /// The cells of all columns that this layout has; `special` and `figure` give each.
  template <class Special, class Cell>
  std::vector<std::string> choose(const Special& special, const Cell& cell) const {
    std::vector<std::string> cells = {special(Column::kName)};
    if (has_tasks_) cells.push_back(special(Column::kTasks));
    each_row_figure([&](const auto& figure) {
      if (is(figure, "memory_bytes")) cells.push_back(special(Column::kWhere));
      if (figure.head != nullptr && shows(figure.name)) cells.push_back(cell(figure));
      if (!is(figure, "wall_ns") || !spread()) return;
      cells.push_back(special(Column::kMedian));
      cells.push_back(special(Column::kLargest));
    });
    return cells;
  }

  void add_heads(const char* name) {
    grid_.add(choose(
        [this, name](Column column) -> std::string {
          switch (column) {
            case Column::kName: return name;
            case Column::kTasks: return tasks_head_;
            case Column::kMedian: return "median";
            case Column::kLargest: return "largest";
            case Column::kWhere: return layout_.bar ? "where time went" : "where";
          }
          return {};
        },
        [](const auto& figure) { return std::string(figure.head); }));
  }

  std::string where(const ReportRow& row) const {
    if (!row.submitted.state.empty()) return submitted_text(row.submitted);
    const std::string causes = main_causes(row.time, layout_.causes);
    return layout_.bar && !causes.empty() ? time_bar(row.time) + " " + causes : causes;
  }

  std::vector<std::string> cells_of(const ReportRow& row, const BriefRow* brief = nullptr) const {
    return choose(
        [&](Column column) -> std::string {
          switch (column) {
            case Column::kName: return name_of(row);
            case Column::kWhere: return where(row);
            case Column::kTasks: return brief == nullptr ? "" : tasks_of(*brief);
            case Column::kMedian: return brief == nullptr ? "" : spread_of(*brief, brief->median_wall_ns);
            case Column::kLargest: return brief == nullptr ? "" : spread_of(*brief, brief->largest_wall_ns);
          }
          return {};
        },
        [&](const auto& figure) { return cell_text(row, figure, layout_.at_most); });
  }
  void add(const ReportRow& row) { grid_.add(cells_of(row)); }

  static std::uint64_t count_of(const BriefRow& row) { return row.row.tasks ? row.row.tasks->value : 0; }

  static std::string tasks_of(const BriefRow& row) {
    switch (row.worth) {
      case Worth::kFailed: return "failed";
      case Worth::kSlowest: return "slowest";
      case Worth::kHungriest: return "most memory";
      case Worth::kNothing: break;
    }
    return count_of(row) > 0 ? with_bound(row.row.tasks->bound, fmt::format("{}", count_of(row))) : "";
  }

  /// Of one task, the wall says it.
  static std::string spread_of(const BriefRow& row, const std::optional<Figure>& wall_ns) {
    return wall_ns && count_of(row) > 1 ? format_figure(wall_ns, format_duration) : "";
  }

  void add(const BriefRow& brief) {
    ReportRow row = brief.row;
    if (brief.left_out != 0)
      row.name = symbols().ellipsis + std::string(" ") +
                 (brief.level == SummaryLevel::kRun    ? format_count(brief.left_out, "more run", "more runs")
                  : brief.level == SummaryLevel::kStep ? format_count(brief.left_out, "more step", "more steps")
                                                       : fmt::format("{} more like these", brief.left_out));
    row.name = name_below(brief.left_out != 0 ? SummaryLevel::kRun : brief.level, brief.depth, row);
    grid_.add(cells_of(row, &brief));
  }

  /// So far to the right; of a task, as much as there is room for.
  std::string name_below(SummaryLevel level, std::size_t depth, const ReportRow& row) const {
    std::string indent(2 * depth, ' ');
    const bool is_one = level == SummaryLevel::kStep || level == SummaryLevel::kTask;
    if (says_level_ && is_one && !row.name.starts_with('(')) indent += to_string(level) + std::string(" ");
    if (level != SummaryLevel::kTask) return indent + row.name;
    return indent + short_names_.fitting(row, layout_.name_width - std::min(layout_.name_width, indent.size()));
  }

  /// A program may be called as the sum is: what is called so, or so in quotes, gets quotes.
  std::string name_of(const ReportRow& row) const {
    const std::string name = printable_ends(row.name, layout_.name_width);
    if (&row == total_) return name;
    const std::size_t begin = std::min(name.find_first_not_of(' '), name.size());
    const std::string_view word = std::string_view(name).substr(begin, name.find_last_not_of(' ') + 1 - begin);
    const std::size_t quotes = std::min(word.find_first_not_of('"'), word.size());
    if (word.substr(quotes, word.find_last_not_of('"') + 1 - quotes) != total_->name) return name;
    return fmt::format("{}\"{}\"", name.substr(0, begin), word);
  }

  void add_rows(const Report& report, By by) {
    switch (by) {
      case By::kRun: return add_level(report, SummaryLevel::kRun, "run");
      case By::kStep: return add_level(report, SummaryLevel::kStep, "step");
      case By::kTask: return add_level(report, SummaryLevel::kTask, "task");
      case By::kSample: add_heads("sample"); return add_list(report.samples);
      case By::kProcess: add_heads("process"); return add_processes(report.processes);
      case By::kTool:
      case By::kTree: add_heads("tool"); break;
    }
    add_tools(report.tools, "tools");
  }

  void add_processes(std::vector<ReportRow> rows) {
    const std::vector<std::string> names = process_names(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = names[i];
    layout_.name_width += kMoreOfProcess;
    add_tools(rows, "processes");
  }

  /// All nodes of one level, the slowest first.
  void add_level(const Report& report, SummaryLevel level, const char* head) {
    add_heads(head);
    std::vector<ReportRow> rows;
    collect(report.tree, level, rows);
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.wall_ns > b.wall_ns; });
    for (ReportRow& row : rows) row.name = name_below(level, 0, row);
    add_list(rows);
  }

  /// What of a list has no row of its own.
  struct Folded {
    void add(const ReportRow& row) {
      if (rows++ == 0) {
        sum = row;
      } else {
        add_row(sum, row);
      }
    }
    /// `of_processes`: each row is one.
    std::string text(bool of_processes = false) const {
      const std::uint64_t failed = sum.failed.value;
      const std::string count = with_bound(sum.processes_bound, format_count(sum.processes, "process", "processes"));
      return fmt::format(
          "{}CPU {}{}", of_processes ? "" : count + ", ", format_figure(sum.cpu_ns, format_duration),
          failed == 0 ? "" : fmt::format(", {} failed", with_bound(sum.failed.bound, fmt::format("{}", failed))));
    }

    std::size_t rows = 0;
    ReportRow sum = {};
  };

  void add_folded(const std::string& indent, const Folded& folded) {
    if (folded.rows != 0)
      grid_.add({fmt::format("{}{} {} more like these: {}", indent, symbols().ellipsis, folded.rows, folded.text())});
  }

  void add_list(const std::vector<ReportRow>& rows) {
    Folded folded;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      in_rows_ += rows[i].processes;
      if (i < kMostListed) {
        add(rows[i]);
      } else {
        folded.add(rows[i]);
      }
    }
    add_folded({}, folded);
  }

  static void collect(const std::vector<ReportNode>& nodes, SummaryLevel level, std::vector<ReportRow>& rows) {
    for (const ReportNode& node : nodes) {
      if (node.level == level) rows.push_back(node.row);
      collect(node.below, level, rows);
    }
  }

  /// Behind the first ones only those with failures are shown.
  void add_nodes(const std::vector<ReportNode>& nodes, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    const std::size_t most = depth == 0 ? kMostOutermost : kMostBelow;
    std::size_t failed = 0;
    Folded folded;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ReportNode& node = nodes[i];
      if (depth == 0) in_rows_ += node.row.processes;
      const bool wanted = i < most || (node.row.failed.value != 0 && failed++ < kMostFailed);
      if (!wanted || nodes_shown_ >= kMostListed) {
        folded.add(node.row);
        continue;
      }
      ++nodes_shown_;
      ReportRow row = node.row;
      row.name = name_below(node.level, depth, row);
      add(row);
      add_nodes(node.below, depth + 1);
    }
    add_folded(indent, folded);
  }

  void add_tools(const std::vector<ReportRow>& tools, const char* what) {
    std::size_t failed = 0;
    Folded folded;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      in_rows_ += tools[i].processes;
      if (i < most_rows_ || (tools[i].failed.value != 0 && failed++ < most_failed_)) {
        add(tools[i]);
      } else {
        folded.add(tools[i]);
      }
    }
    if (folded.rows != 0)
      grid_.add({fmt::format("{} {} more {} with less CPU each: {}", symbols().ellipsis, folded.rows, what,
                             folded.text(what == std::string_view("processes")))});
  }

  Layout layout_;
  const ShortNames& short_names_;
  const ReportRow* total_;  ///< Of the report, while the table is made.
  bool failures_;
  std::size_t most_rows_ = kMostRows;
  std::size_t most_failed_ = kMostFailed;
  const char* tasks_head_ = "tasks";
  std::uint64_t in_rows_ = 0;
  bool has_tasks_ = false;
  bool says_level_ = false;
  bool has_spread_ = false;
  std::size_t nodes_shown_ = 0;
  Grid grid_{{}};
};

/// Why rows don't add up to the total.
std::string sum_note(const Report& report, std::optional<By> by, std::uint64_t in_rows) {
  const std::uint64_t all = report.total.processes;
  const bool known = report.completeness.rows_are_whole && report.total.processes_bound == Bound::kExact;
  if ((!known && in_rows != 0) || in_rows == all || by == By::kProcess) return {};
  const std::string_view what = by && by != By::kTree ? std::string_view(kByNames[static_cast<std::size_t>(*by)].first)
                                : report.tree.empty() || (!by && are_commands_alone(report.tree)) ? "tool"
                                                                                                  : "run or task";
  if (in_rows < all)
    return fmt::format("in no row, as part of no {}: {} of {} processes ({})\n", what, all - in_rows, all,
                       by == By::kSample ? "name samples by --sample of tracerd run or task, Snakemake's wildcard "
                                           "'sample', Nextflow's tag, or a rule of your own: docs/contexts.md"
                                         : "--by tool has them");
  return fmt::format("rows add up to {} processes, not {}: one that {} counts in each\n", in_rows, all,
                     what == "tool"          ? "executed several programs"
                     : what == "run or task" ? "belongs to several runs or tasks"
                                             : fmt::format("belongs to several {}s", what));
}

/// The columns for which there is no room.
std::string left_out(const Layout& layout, const char* tasks, bool spread) {
  std::string names;
  const auto add = [&names](bool shown, const char* name) {
    if (!shown) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(layout.tasks || tasks == nullptr, tasks);
  add(layout.spread || !spread, "median, largest");
  add(layout.utilization, "CPU/wall");
  add(layout.processes, "procs");
  add(layout.causes != 0, "where time went");
  add(layout.memory, "memory");
  add(layout.read, "read");
  add(layout.written, "written");
  return names.empty() ? names : fmt::format("not shown: {}\n", names);
}

std::string legend_of_bounds(const std::string& text) {
  std::string legend;
  if (text.find(symbols().at_least) != std::string::npos)
    legend = fmt::format("{} at least: part of it is not known", symbols().at_least);
  if (text.find(symbols().at_most) != std::string::npos)
    legend += fmt::format("{}{} at most: the exact figure is not known", legend.empty() ? "" : "  ", symbols().at_most);
  return legend.empty() ? legend : legend + '\n';
}

}  // namespace

std::optional<By> by_named(std::string_view name) {
  for (const auto& [known, by] : kByNames)
    if (name == known) return by;
  return std::nullopt;
}

std::string names_of_by() {
  std::string names;
  for (const auto& [name, by] : kByNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

ShownTable make_table(const Report& report, std::optional<By> by, std::optional<std::size_t> columns) {
  const auto brief = by ? std::vector<BriefRow>{} : brief_rows(report, kMostBrief);
  const ShortNames short_names(report.tree);
  for (const Layout& layout : kLayouts) {
    const Table table(report, by, brief, short_names, layout);
    const bool fits = !columns || table.grid().width() <= *columns;
    if (!fits && &layout != &kLayouts.back()) continue;
    ShownTable shown{table.grid(), {}};
    const std::string text = shown.grid.text();
    if (fits && layout.bar && !report.total.time.empty())
      shown.legend = '\n' + time_bar_legend(text.find(symbols().unclear) != std::string::npos);
    shown.legend += wrapped(left_out(layout, brief.empty() ? nullptr : table.tasks_head(), table.has_spread()) +
                                sum_note(report, by, table.in_rows()),
                            columns);
    shown.legend += legend_of_bounds(text);
    return shown;
  }
  return {Grid({}), {}};
}

std::string format_tables(const Report& report, std::optional<By> by, std::optional<std::size_t> columns) {
  const ShownTable shown = make_table(report, by, columns);
  return shown.grid.text() + shown.legend;
}

}  // namespace tracer::internal
