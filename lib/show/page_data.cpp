// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "context/task_name.hpp"
#include "report/identities.hpp"
#include "report/json_builder.hpp"
#include "report/time_shares.hpp"
#include "show/certificate_text.hpp"
#include "show/page.hpp"
#include "show/page_columns.hpp"
#include "show/report_text.hpp"
#include "show/row_texts.hpp"
#include "show/time_bar.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostNameLength = 200;
constexpr std::size_t kMostCommandLength = 400;
constexpr std::size_t kMostBelowNode = 2000;
constexpr std::size_t kMostPageRows = 20000;
constexpr std::size_t kMostShownSurvivors = 200;

/// Their places are the script's colors.
constexpr std::array kColored = {TimeCause::kCpu,   TimeCause::kRunQueue,   TimeCause::kThrottled, TimeCause::kDisk,
                                 TimeCause::kPipe,  TimeCause::kNetwork,    TimeCause::kLock,      TimeCause::kChild,
                                 TimeCause::kSleep, TimeCause::kEvents,     TimeCause::kMemory,    TimeCause::kStopped,
                                 TimeCause::kOther, TimeCause::kLocalSocket};

unsigned color_of(TimeCause cause) {
  return static_cast<unsigned>(std::find(kColored.begin(), kColored.end(), cause) - kColored.begin());
}

unsigned thousandths(double share) { return static_cast<unsigned>(std::lrint(share * 1000)); }

/// What can't be seen is left out.
std::vector<unsigned> parts_of(const std::vector<TimeShare>& time) {
  std::vector<unsigned> parts;
  for (const TimeShare& each : time)
    if (thousandths(each.share) > 0) parts.insert(parts.end(), {color_of(each.cause), thousandths(each.share)});
  return parts;
}

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

std::string visible_lines(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return visible_in_lines(text);
}

PageColumnLook fixed(std::string title, const char* kind, unsigned px, bool searched = false, bool marks = false) {
  return {std::move(title), kind, fmt::format("{}px", px), px, searched, marks};
}
PageColumnLook growing(std::string title, const char* kind, unsigned px, const char* share, bool searched = false) {
  return {std::move(title), kind, fmt::format("minmax({}px,{}fr)", px, share), px, searched, false};
}

/// With the gaps between them.
unsigned width_of_all(const std::vector<PageColumn>& columns) {
  unsigned least = 0;
  for (const PageColumn& column : columns) least += column.least_px();
  return least + 12 * static_cast<unsigned>(columns.size() - 1) + 24;
}

struct PageRow {
  unsigned depth = 0;
  SummaryLevel level = SummaryLevel::kTool;
  const ReportRow* row = nullptr;
  std::string name;
};

PageRow page_row(const ReportRow& row, unsigned depth = 0, SummaryLevel level = SummaryLevel::kTool) {
  return {depth, level, &row, row.name};
}

const char* name_of(SummaryLevel level) {
  switch (level) {
    case SummaryLevel::kRun: return "run";
    case SummaryLevel::kStep: return "step";
    case SummaryLevel::kTask: return "task";
    case SummaryLevel::kEngine: return "engine";
    case SummaryLevel::kTool: break;
  }
  return "tool";
}

/// Room for most names, and no more.
unsigned name_px(const std::vector<PageRow>& rows, bool tree) {
  std::size_t longest = 0;
  for (const PageRow& each : rows)
    longest = std::max(longest, 16 * (tree ? each.depth : 0) + 7 * std::min<std::size_t>(length_of(each.name), 60));
  return static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(180, longest + (tree ? 70 : 24)), 420));
}

/// As deep as it fits a screen or two.
unsigned open_depth(const std::vector<PageRow>& rows) {
  std::array<std::size_t, 6> counts{};
  for (const PageRow& each : rows) ++counts[std::min(each.depth, 4u)];
  unsigned deep = 0;
  std::size_t shown = counts[0];
  while (deep < 4 && shown + counts[deep + 1] <= 60) shown += counts[++deep];
  return deep;
}

/// Of a figure: what its texts need.
unsigned px_of(std::string_view figure, bool requested, bool bounded_above) {
  if (figure == "processes") return 48;
  if (figure == "wall_ns") return 66;
  if (figure == "cpu_ns") return 76;
  if (figure == "cpu_utilization") return requested ? 120 : 70;
  if (figure == "memory_bytes") return 96 + (requested ? 54 : 0) + (bounded_above ? 80 : 0);
  return figure == "failed" ? 50 : 84;
}

template <class T>
std::optional<double> sort_of(const ReportRow& row, const RowFigure<T>& figure) {
  const auto found = known(row, figure);
  const auto& value = found.exact ? found.exact : found.at_least ? found.at_least : found.at_most;
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

void write_columns(JsonBuilder& json, const std::vector<PageColumn>& columns) {
  json.list("columns", columns, [&](const PageColumn& column) { column.write(json); });
}

void write_table(JsonBuilder& json, const std::string& name, const std::vector<PageRow>& rows, const std::string& note,
                 bool tree) {
  const auto any = [&rows](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  const bool requested = any([](const PageRow& each) { return each.row->requested != Requested{}; });
  const bool bounded_above = any([](const PageRow& each) { return each.row->memory_at_most_bytes.has_value(); });
  const unsigned name_width = name_px(rows, tree);
  std::vector<PageColumn> columns;
  columns.emplace_back(
      growing(tree ? "run, step, task, tool" : name.substr(0, name.size() - 1), "name", name_width, "1.8", true));
  for (const PageRow& each : rows) columns.back().add(visible(each.name, kMostNameLength));
  each_row_figure([&](const auto& figure) {
    const std::string_view known_as = figure.name;
    if (known_as == "memory_bytes") {
      columns.emplace_back(growing("where time went", "where", 270, "2"));
      for (const PageRow& each : rows) columns.back().add(main_causes(each.row->time, 2), parts_of(each.row->time));
    }
    if (figure.head == nullptr) return;
    columns.emplace_back(
        fixed(figure.head, "number", px_of(known_as, requested, bounded_above), false, known_as == "failed"));
    for (const PageRow& each : rows) columns.back().add(cell_text(*each.row, figure), sort_of(*each.row, figure));
  });
  json.object([&] {
    json.put("name", name);
    json.put("title", name);
    json.put("rows", rows.size());
    json.put("width", width_of_all(columns));
    json.put("name_px", name_width);
    json.put("note", note);
    write_columns(json, columns);
    json.list("failed", rows, [&](const PageRow& each) { json.put_value(each.row->failed.value > 0 ? 1 : 0); });
    if (!tree) return;
    json.list("depth", rows, [&](const PageRow& each) { json.put_value(each.depth); });
    json.list("level", rows, [&](const PageRow& each) { json.put_value(std::string_view(name_of(each.level))); });
    json.put("open_depth", open_depth(rows));
  });
}

/// From the top down; of very many below one node, those that come first and those with failures.
void flatten(const std::vector<ReportNode>& nodes, unsigned depth, std::vector<PageRow>& rows, std::size_t& left_out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ReportNode& node = nodes[i];
    if (i >= kMostBelowNode && node.row.failed.value == 0 && depth > 0 && nodes.size() > kMostPageRows) {
      ++left_out;
      continue;
    }
    rows.push_back(page_row(node.row, depth, node.level));
    flatten(node.below, depth + 1, rows, left_out);
  }
}

/// Its step and what tells it from others; where that is nothing, its run.
std::string listed_name(const ReportRow& row) {
  std::string name = task_name(row.task);
  if (!name.empty()) return name;
  name = row.task.pipeline.value_or("");
  if (row.task.run) name += (name.empty() ? "" : " ") + *row.task.run;
  return name.empty() ? row.name : name;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\r\f\v", at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// Of each command the words that not all of its tool have.
std::vector<std::string> differing_words(const std::vector<ListedProcess>& processes) {
  std::map<std::string, std::map<std::string, std::size_t>> having;
  std::map<std::string, std::size_t> count;
  for (const ListedProcess& each : processes) {
    ++count[each.tool];
    const std::vector<std::string> words = words_of(each.command);
    for (const std::string& word : std::set(words.begin(), words.end())) ++having[each.tool][word];
  }
  std::vector<std::string> all;
  for (const ListedProcess& each : processes) {
    const std::vector<std::string> words = words_of(each.command);
    std::string text;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (having[each.tool][words[i]] < count[each.tool]) text += (text.empty() ? "" : " ") + words[i];
    all.push_back(std::move(text));
  }
  return all;
}

std::string status_of(const ListedProcess& process) {
  if (process.living) return "running";
  if (process.exit_signal) return fmt::format("signal {}", *process.exit_signal);
  return process.exit_code ? fmt::format("status {}", *process.exit_code) : kUnknown;
}

void write_processes(JsonBuilder& json, const DetailedReport& detailed) {
  const std::vector<ListedProcess>& listed = detailed.processes;
  const std::vector<std::string> differing = differing_words(listed);
  std::vector<PageColumn> columns;
  const auto add = [&](PageColumnLook look, auto fill) {
    PageColumn column(std::move(look));
    for (std::size_t i = 0; i < listed.size(); ++i) fill(column, listed[i], i);
    columns.push_back(std::move(column));
  };
  const auto add_text = [&](PageColumnLook look, auto text) {
    add(std::move(look), [&](PageColumn& column, const ListedProcess& one, std::size_t i) {
      column.add(visible(text(one, i), kMostNameLength));
    });
  };
  const auto add_time = [&](const char* title, unsigned px, auto time_ns) {
    add(fixed(title, "number", px), [&](PageColumn& column, const ListedProcess& one, std::size_t) {
      const std::optional<std::uint64_t> ns = time_ns(one);
      column.add(ns ? format_duration(*ns) : kUnknown, ns ? std::optional(static_cast<double>(*ns)) : std::nullopt);
    });
  };
  const auto add_bytes = [&](const char* title, std::optional<Figure> ListedProcess::*figure) {
    add(fixed(title, "number", 84), [&](PageColumn& column, const ListedProcess& one, std::size_t) {
      column.add(format_figure(one.*figure, format_bytes),
                 one.*figure ? std::optional(static_cast<double>((one.*figure)->value)) : std::nullopt);
    });
  };
  add_text(growing("tool", "name", 110, "1", true), [](const auto& one, auto) { return one.tool; });
  add(fixed("pid", "number", 70, true), [](PageColumn& column, const ListedProcess& one, std::size_t) {
    column.add(std::to_string(one.pid), static_cast<double>(one.pid));
  });
  const auto drop_empty = [&] {
    if (columns.back().says_nothing()) columns.pop_back();
  };
  add_text(growing("differs by", "text", 160, "1.6", true), [&](const auto&, std::size_t i) { return differing[i]; });
  drop_empty();
  add_text(growing("task", "text", 80, "1", true), [](const auto& one, auto) { return one.task; });
  drop_empty();
  add_text(fixed("status", "text", 86, true, true), [](const auto& one, auto) { return status_of(one); });
  add_time("began", 78, [&](const ListedProcess& one) {
    return std::optional(one.start_ns - std::min(one.start_ns, detailed.first_ns));
  });
  add_time("wall", 74,
           [](const ListedProcess& one) { return std::optional(one.end_ns - std::min(one.start_ns, one.end_ns)); });
  add_time("CPU", 74, [](const ListedProcess& one) { return one.cpu_ns; });
  add(growing("where time went", "where", 240, "1.5"), [](PageColumn& column, const ListedProcess& one, std::size_t) {
    const std::vector<TimeShare> time = time_shares(one.process_ledger, one.ledger);
    column.add(main_causes(time, 2), parts_of(time));
  });
  add_bytes("memory", &ListedProcess::peak_bytes);
  add_bytes("read", &ListedProcess::read_bytes);
  add_bytes("written", &ListedProcess::written_bytes);
  add_text(growing("command", "text", 200, "2", true), [](const auto& one, auto) { return one.command; });
  const std::uint64_t all = detailed.report.completeness.exits_seen + detailed.report.survivors.size();
  json.object([&] {
    json.put("name", std::string_view("processes"));
    json.put("title", std::string_view("processes"));
    json.put("rows", listed.size());
    json.put("width", width_of_all(columns));
    json.put("name_px", 110);
    json.put("note", listed.size() >= all
                         ? std::string()
                         : fmt::format("The {} of {} processes that consumed most CPU.", listed.size(), all));
    write_columns(json, columns);
    json.list("failed", listed, [&](const ListedProcess& one) { json.put_value(one.failed ? 1 : 0); });
  });
}

/// Not what a run or step does outside of its tasks.
bool is_listed_task(const ReportRow& row) { return is_in_task(row.task); }

struct PageTable {
  std::string name;
  std::vector<PageRow> rows;
  std::string note;
};

std::vector<PageTable> tables_of(const Report& report) {
  std::vector<PageTable> tables;
  PageTable tree{"tree", {}, ""};
  std::size_t left_out = 0;
  flatten(report.tree, 0, tree.rows, left_out);
  if (left_out != 0) tree.note = fmt::format("{} tasks are left out.", left_out);
  if (!tree.rows.empty()) tables.push_back(std::move(tree));
  const auto add = [&tables](const char* name, std::vector<PageRow> rows) {
    if (rows.empty()) return;
    const std::size_t all = rows.size();
    rows.resize(std::min(all, kMostPageRows));
    tables.push_back({name, rows, rows.size() == all ? "" : fmt::format("The first {} of {}.", rows.size(), all)});
  };
  const auto rows_of = [](const std::vector<ReportRow>& from) {
    std::vector<PageRow> rows;
    for (const ReportRow& row : from) rows.push_back(page_row(row));
    return rows;
  };
  std::vector<PageRow> tasks;
  for (const ReportRow& row : report.tasks) {
    if (!is_listed_task(row)) continue;
    tasks.push_back(page_row(row));
    tasks.back().name = listed_name(row);
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const PageRow& a, const PageRow& b) { return a.row->wall_ns > b.row->wall_ns; });
  add("tools", rows_of(report.tools));
  add("steps", rows_of(report.steps));
  add("tasks", std::move(tasks));
  add("samples", rows_of(report.samples));
  return tables;
}

/// In thousandths; what is there can be seen.
unsigned height_of(std::uint64_t value, std::uint64_t scale) {
  if (value == 0 || scale == 0) return 0;
  return std::max(20u, thousandths(static_cast<double>(value) / static_cast<double>(scale)));
}

std::string cpus_text(double most) {
  if (most < 0.01) return "< 0.01 CPUs";
  return most < 10 ? fmt::format("max {:.2f} CPUs", most) : fmt::format("max {:.0f} CPUs", most);
}

void write_over_time(JsonBuilder& json, const char* name, const std::vector<Series>& series, std::uint64_t part_ns) {
  const auto most_of = [](const std::vector<std::uint64_t>& values) {
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  };
  // One scale for all: what is twice as high is twice as much.
  std::uint64_t cpu_scale = 0;
  std::uint64_t memory_scale = 0;
  for (const Series& each : series) {
    cpu_scale = std::max(cpu_scale, most_of(each.cpu_ns));
    memory_scale = std::max(memory_scale, most_of(each.memory_bytes));
  }
  json.list(name, series, [&](const Series& each) {
    const std::uint64_t most_cpu = most_of(each.cpu_ns);
    const std::uint64_t most_memory = most_of(each.memory_bytes);
    json.object([&] {
      json.put("name", each.name.empty() ? std::string("all others") : visible(each.name, kMostNameLength));
      json.list("cpu", each.cpu_ns, [&](std::uint64_t value) { json.put_value(height_of(value, cpu_scale)); });
      json.list("lived", each.lived_ns, [&](std::uint64_t value) { json.put_value(value > 0 ? 1 : 0); });
      json.list("memory", each.memory_bytes,
                [&](std::uint64_t value) { json.put_value(height_of(value, memory_scale)); });
      json.put("cpu_text", most_cpu == 0 ? std::string(kUnknown)
                                         : cpus_text(static_cast<double>(most_cpu) / static_cast<double>(part_ns)));
      json.put("memory_text",
               most_memory == 0 ? std::string(kUnknown) : fmt::format("max {}", format_bytes(most_memory)));
    });
  });
}

std::uint64_t whole_ns(double ns) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return ns >= static_cast<double>(kMost) ? kMost : static_cast<std::uint64_t>(std::nearbyint(ns));
}

void write_timeline(JsonBuilder& json, const DetailedReport& detailed) {
  const auto length = static_cast<double>(detailed.part_ns) * static_cast<double>(detailed.parts);
  const std::vector<double> shares = length > 0 ? std::vector<double>{0, 0.25, 0.5, 0.75, 1} : std::vector<double>{};
  json.object("timeline", [&] {
    json.put("parts", detailed.parts);
    json.list("ticks", shares, [&](double share) {
      json.put_items(share, share == 0 ? std::string("0") : format_duration(whole_ns(length * share)));
    });
    write_over_time(json, "tools", detailed.tools_over_time, detailed.part_ns);
    write_over_time(json, "tasks", detailed.tasks_over_time, detailed.part_ns);
    json.put("note", fmt::format("All rows have one scale; the maximum of each is on the right. One bar is {}. CPU is "
                                 "spread evenly between two samples of a process. Memory is sampled; processes too "
                                 "short to be sampled show their own peak. Gray: running, but idle.",
                                 format_duration(detailed.part_ns)));
  });
}

std::string command_text(const Program& program) {
  std::string command;
  if (program.argv)
    for (const std::string& word : *program.argv) command += (command.empty() ? "" : " ") + word;
  return visible(command.empty() ? program.exe.value_or(kUnknown) : command, kMostCommandLength);
}

std::string tool_text(const Program& program) {
  return visible(program.tool.value_or(program.comm.value_or(kUnknown)), kMostNameLength);
}

/// A list with heads, or a text.
struct PagePart {
  std::string name;
  std::string title;
  std::vector<std::string> heads = {};
  std::vector<std::vector<std::string>> rows = {};
  std::size_t mono = 0;  ///< Which column is in letters of one width.
  std::string text = {};
};

PagePart failures_part(const Report& report) {
  PagePart part{"failures",
                fmt::format("{} failed", report.failures_seen),
                {"tool", "how", "then", "pid of the first", "times", "command"}};
  part.mono = 5;
  std::uint64_t shown = 0;
  for (const Failure& failure : report.failures) {
    const Process& process = *failure.process;
    std::string status = format_status(failure);
    if (failure.core_dumped && status.find("core") == std::string::npos) status += ", core dumped";
    part.rows.push_back({tool_text(*process.program), status, visible(format_outcome(failure), kMostNameLength),
                         std::to_string(process.pid), std::to_string(failure.count), command_text(*process.program)});
    shown += failure.count;
  }
  if (report.failures_seen > shown) part.text = fmt::format("… {} more", report.failures_seen - shown);
  return part;
}

PagePart survivors_part(const Report& report) {
  PagePart part{"survivors",
                fmt::format("{} still running", report.survivors.size()),
                {"tool", "pid", "so far", "CPU", "read", "written", "command"}};
  part.mono = 6;
  for (std::size_t i = 0; i < std::min(report.survivors.size(), kMostShownSurvivors); ++i) {
    const ProcessSample& sample = report.survivors[i];
    const Process& process = *sample.process;
    part.rows.push_back({tool_text(*process.program), std::to_string(process.pid),
                         format_duration(sample.time_ns - std::min(sample.time_ns, process.start_ns)),
                         sample.account.cpu_ns ? format_duration(*sample.account.cpu_ns) : std::string(kUnknown),
                         format_figure(bytes_read(sample.account), format_bytes),
                         format_figure(bytes_written(sample.account), format_bytes), command_text(*process.program)});
  }
  return part;
}

void write_parts(JsonBuilder& json, const Report& report, const ReportNotes& notes) {
  std::vector<PagePart> parts;
  if (report.failures_seen != 0) parts.push_back(failures_part(report));
  if (!report.survivors.empty()) parts.push_back(survivors_part(report));
  const auto add_text = [&parts](const char* name, const char* title, const std::string& text) {
    if (text.empty()) return;
    PagePart part{name, title};
    part.text = visible_lines(text);
    parts.push_back(std::move(part));
  };
  add_text("pipelines", "Pipes", notes.pipelines);
  add_text("cgroups", "Memory of cgroups", notes.cgroups);
  add_text("engines", "Engines", notes.engines);
  json.list("parts", parts, [&](const PagePart& part) {
    json.object([&] {
      json.put("name", part.name);
      json.put("title", part.title);
      if (!part.heads.empty()) {
        json.list("rows", part.rows, [&](const auto& row) { json.put_list(row); });
        json.put("mono", part.mono);
        json.texts("heads", part.heads);
      }
      if (!part.text.empty()) json.put("text", part.text);
    });
  });
}

void write_certificate(JsonBuilder& json, const DetailedReport& detailed, const ReportNotes& notes) {
  const Completeness& certificate = detailed.report.completeness;
  std::vector<std::string> losses;
  for (const auto& [cause, count] : certificate.losses) losses.push_back(fmt::format("{}: {}", cause, count));
  std::vector<std::string> families;
  for (const FamilyState& state : certificate.missing) {
    std::string text = fmt::format("{} {}", state.active ? "not all of" : "without", to_string(state.family));
    if (state.problem) {
      text += fmt::format(": {} [{}]", state.problem->what, to_string(state.problem->code));
      if (!state.problem->fix.empty()) text += ". Fix: " + state.problem->fix;
    }
    families.push_back(std::move(text));
  }
  const std::vector<std::pair<std::string, std::vector<std::string>>> lists = {
      {"Lost", losses},
      {"The recording", lines_of(detailed.damage)},
      {"What the kernel can't tell", unknown_of(detailed.report)},
      {"Not there", families}};
  json.object("certificate", [&] {
    json.put("text", visible_lines(notes.certificate));
    json.list("lists", lists, [&](const auto& list) {
      std::vector<std::string> shown;
      for (const std::string& line : list.second) shown.push_back(visible(line));
      json.put_items(list.first, shown);
    });
  });
}

std::vector<std::string> facts_of(const DetailedReport& detailed) {
  const HostInfo& host = detailed.host;
  std::vector<std::string> facts;
  if (detailed.first_ns != 0) {
    constexpr std::time_t kLatest = 200'000'000'000;
    const auto began =
        std::min(static_cast<std::time_t>(
                     (static_cast<double>(detailed.first_ns) + static_cast<double>(host.wall_offset_ns)) / 1e9),
                 kLatest);
    std::tm utc{};
    ::gmtime_r(&began, &utc);
    facts.push_back(fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc));
    facts.push_back(format_duration(detailed.last_ns - std::min(detailed.last_ns, detailed.first_ns)) + " traced");
  }
  if (!host.host_name.empty()) facts.push_back(host.host_name);
  if (!host.kernel_release.empty())
    facts.push_back(
        fmt::format("Linux {}{}{}", host.kernel_release, host.architecture.empty() ? "" : " ", host.architecture));
  if (host.cpu_count != 0) facts.push_back(fmt::format("{} CPUs, {}", host.cpu_count, format_bytes(host.memory_bytes)));
  if (!host.tracer_version.empty()) facts.push_back("libtracer " + host.tracer_version);
  for (std::string& fact : facts) fact = visible(fact, kMostNameLength);
  return facts;
}

void write_verdict(JsonBuilder& json, const Completeness& certificate) {
  std::string text = fmt::format("{} of {} ended processes seen", certificate.exits_seen, certificate.ended);
  if (certificate.complete) {
    text += ", nothing lost.";
  } else {
    for (const auto& [cause, count] : certificate.losses) text += fmt::format("; {}: {}", visible(cause, 80), count);
    text += '.';
  }
  json.object("verdict", [&] {
    json.put("good", certificate.complete);
    json.put("word", std::string_view(certificate.complete ? "Complete." : "Not complete."));
    json.put("text", text);
  });
}

/// What a process waits for a child, the child does beside.
void write_time(JsonBuilder& json, const std::vector<TimeShare>& all) {
  std::vector<TimeShare> time = all;
  std::erase_if(time, [](const TimeShare& each) { return each.cause == TimeCause::kChild; });
  double whole = 0;
  for (const TimeShare& each : time) whole += each.share;
  json.list("time", time, [&](const TimeShare& each) {
    json.put_items(color_of(each.cause), std::max(1u, thousandths(each.share / whole)),
                   fmt::format("{} {}, {}", to_string(each.cause), format_share(each.share / whole),
                               format_duration(each.time_ns)));
  });
}

void write_tiles(JsonBuilder& json, const ReportRow& total) {
  std::map<std::string, std::string> texts;
  each_row_figure([&](const auto& figure) { texts[figure.name] = cell_text(total, figure); });
  if (texts["failed"].empty()) texts["failed"] = "0";
  if (total.processes == 0) texts["processes"] = "0";
  constexpr std::pair<const char*, const char*> kTiles[] = {{"wall", "wall_ns"},
                                                            {"failed", "failed"},
                                                            {"memory", "memory_bytes"},
                                                            {"CPU", "cpu_ns"},
                                                            {"CPU / wall", "cpu_utilization"},
                                                            {"processes", "processes"},
                                                            {"read", "read_bytes"},
                                                            {"written", "written_bytes"}};
  json.list("tiles", kTiles, [&](const auto& tile) { json.put_items(std::string(tile.first), texts[tile.second]); });
}

}  // namespace

std::string page_data(const DetailedReport& detailed, const std::string& title) {
  const Report& report = detailed.report;
  const ReportNotes notes = format_notes(report, std::nullopt);
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("title", visible(title, kMostNameLength));
    json.texts("facts", facts_of(detailed));
    write_verdict(json, report.completeness);
    write_tiles(json, report.total);
    write_time(json, report.total.time);
    const std::vector<PageTable> tables = tables_of(report);
    std::vector<const PageTable*> all;
    for (const PageTable& table : tables) all.push_back(&table);
    if (!detailed.processes.empty()) all.push_back(nullptr);
    json.list("tables", all, [&](const PageTable* table) {
      if (table == nullptr) return write_processes(json, detailed);
      write_table(json, table->name, table->rows, table->note, table->name == "tree");
    });
    write_timeline(json, detailed);
    write_parts(json, report, notes);
    write_certificate(json, detailed, notes);
  });
  return out;
}

}  // namespace tracer::internal
