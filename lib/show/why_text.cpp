// SPDX-License-Identifier: Apache-2.0
#include "base/process_id.hpp"
#include "show/why_text.hpp"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/tool_name.hpp"
#include "context/task_name.hpp"
#include "show/critical_path_text.hpp"
#include "show/figures.hpp"
#include "show/findings_text.hpp"
#include "show/grid.hpp"
#include "show/life_bars.hpp"
#include "show/printable.hpp"
#include "show/process_names.hpp"
#include "show/screen.hpp"
#include "show/time_bar.hpp"
#include "show/wrapped.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostSubjectName = 80;
constexpr std::size_t kMostWhyCommand = 100;
constexpr std::size_t kLeastBesides = 64;  ///< Columns of text that a table of processes has before the commands.
constexpr std::size_t kMostNeighborsShown = 5;
constexpr std::size_t kMostFailuresShown = 8;
constexpr std::size_t kMostCandidates = 12;
constexpr std::size_t kMostTasksNamed = 5;
constexpr std::size_t kMostLives = 16;
constexpr std::size_t kMostPathTasks = 16;

std::string utc_of(std::uint64_t time_ns, std::uint64_t wall_offset_ns) {
  constexpr std::uint64_t kLatest_s = 200'000'000'000;
  const auto seconds = static_cast<std::time_t>(std::min((time_ns + wall_offset_ns) / 1'000'000'000, kLatest_s));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc);
}

std::string ended_text(const std::optional<std::int32_t>& code, const std::optional<std::int32_t>& signal) {
  if (signal) {
    const char* const name = ::sigabbrev_np(*signal);
    return fmt::format("signal {} ({})", *signal, name != nullptr ? name : "?");
  }
  return code ? fmt::format("status {}", *code) : "its status is not known";
}

std::string tool_name_of(const Process& process) {
  return printable(known_tool(*process.program).value_or("?"), kMostSubjectName);
}

std::string place_of(const Subjects& subjects, const Context& context, bool with_task) {
  std::string text;
  const auto add = [&text](const char* what, const SubjectScope* scope) {
    if (scope != nullptr)
      text += fmt::format("{}{} {}", text.empty() ? " in " : ", ", what,
                          printable(name_of_scope(*scope), kMostSubjectName));
  };
  if (with_task) add("task", subjects.task_of(context));
  add("run", subjects.run_of(context));
  return text;
}

std::string times_of(std::uint64_t begin_ns, std::uint64_t end_ns, bool ended, const Subjects& subjects,
                     const WhyOptions& options) {
  return fmt::format("  began {}, {}; {} {}\n", moment_of(begin_ns, subjects.first_ns()),
                     utc_of(begin_ns, options.wall_offset_ns), ended ? "took" : "has not ended after",
                     format_duration(end_ns - std::min(begin_ns, end_ns)));
}

std::optional<Figure> exactly(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(Figure{*value, Bound::kExact}) : std::nullopt;
}

template <class T>
std::string figures_text(const T& of, const std::optional<Figure>& cpu_ns, const std::optional<Figure>& memory_bytes,
                         const std::optional<std::uint64_t>& memory_at_most_bytes = {}) {
  const std::uint64_t wall_ns = of.end_ns - std::min(of.begin_ns, of.end_ns);
  std::string text = fmt::format("CPU {}", format_figure(cpu_ns, format_duration));
  if (cpu_ns && wall_ns != 0)
    text += fmt::format(" ({} of its wall time)",
                        format_share(static_cast<double>(cpu_ns->value) / static_cast<double>(wall_ns)));
  text += ", memory " + format_figure(memory_bytes, format_bytes);
  if (memory_at_most_bytes) text += " " + with_bound(Bound::kAtMost, format_bytes(*memory_at_most_bytes));
  return text + fmt::format(", read {}, written {}", format_figure(of.read_bytes, format_bytes),
                            format_figure(of.written_bytes, format_bytes));
}

/// "mostly waited for a CPU"
std::string_view bound_text(std::string_view bound_by) {
  static constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"compute", "computed"},
      {"memory", "waited for memory"},
      {"disk", "waited for storage"},
      {"network", "waited for the network"},
      {"pipe", "waited for pipes or local sockets"},
      {"lock", "waited for locks"},
      {"cpu_limit", "was held back by its CPU limit"},
      {"oversubscribed", "waited for a CPU"}};
  for (const auto& [bound, text] : kTexts)
    if (bound == bound_by) return text;
  return "idle";
}

/// "used 3.1 of 8 requested CPUs while it computed"
std::string parallelism_text(double parallelism, const Requested& requested) {
  const std::string of =
      requested.millicpus ? fmt::format(" of {:g} requested", static_cast<double>(*requested.millicpus) / 1000) : "";
  return fmt::format("  used {:.1f}{} CPUs while it computed\n", parallelism, of);
}

std::string time_text(const Subject& subject) {
  const ReportRow row = row_of_subject(subject);
  if (row.time.empty()) return "\nwhere its time went is not known\n";
  const bool from_fork = subject.process != nullptr && !subject.process->cpu_before_ns;
  std::string out =
      fmt::format("\nwhere its time went{}: {}\n",
                  from_fork ? " since its fork (in a report's rows: since the exec)" : "", time_bar(row.time));
  Grid grid({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  const bool has_range = std::any_of(row.time.begin(), row.time.end(),
                                     [](const TimeShare& each) { return each.cause == TimeCause::kUnclear; });
  for (const TimeShare& each : row.time) {
    std::string bound;
    if (each.cause == TimeCause::kCpu && row.task_ledger && row.task_ledger->computing_at_most_ns > each.time_ns) {
      const std::string most = format_duration(row.task_ledger->computing_at_most_ns);
      if (most != format_duration(each.time_ns)) bound = "at most " + most;
    }
    if (const auto device = disk_wait_device_of(subject); device && each.cause == TimeCause::kDisk)
      bound = fmt::format("most known for {}", printable(*device, kMostSubjectName));
    const bool is_least = has_range && each.cause == TimeCause::kCpu;
    grid.add({fmt::format("  {}", to_string(each.cause)),
              (is_least ? symbols().at_least : "") + format_duration(each.time_ns), format_share(each.share), bound});
  }
  out += grid.text();
  if (row.parallelism) out += parallelism_text(*row.parallelism, subject.scope->requested);
  for (const AwaitedTask& each : row.waits_for)
    out += fmt::format("  waits for task {}: {}, by {}s\n",
                       each.name.empty() ? to_string(each.task_key) : printable(each.name, kMostSubjectName),
                       format_duration(each.wait_ns), printable(each.cause, kMostSubjectName));
  out += row.bound_share
             ? fmt::format("  mostly {}: {} of its time\n", bound_text(row.bound_by), format_share(*row.bound_share))
             : "  bound by no single cause\n";
  return out;
}

void add_process_row(Grid& grid, const SubjectProcess& each, std::uint64_t origin_ns, std::size_t command_width) {
  const Process& process = *each.process;
  const auto text = [](const std::optional<std::uint64_t>& value, std::string (*format)(std::uint64_t)) {
    return value ? format(*value) : std::string(kUnknownFigure);
  };
  grid.add({fmt::format("  {}", tool_name_of(process)), fmt::format("{}", process.pid),
            format_duration(each.begin_ns - std::min(each.begin_ns, origin_ns)),
            format_duration(each.end_ns - std::min(each.begin_ns, each.end_ns)), text(each.cpu_ns, format_duration),
            text(each.peak_bytes, format_bytes), each.living ? "lives" : ended_text(each.exit_code, each.exit_signal),
            printable(joined_command(*process.program).value_or(""), command_width)});
}

std::string processes_text(const std::string& title, const std::vector<SubjectProcess>& processes, std::size_t most,
                           std::uint64_t origin_ns, std::optional<std::size_t> columns) {
  if (processes.empty()) return {};
  Grid grid({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft,
             Align::kLeft});
  grid.add({"  tool", "pid", "after", "took", "CPU", "peak", "ended by", "command"});
  const std::size_t width = columns.value_or(std::numeric_limits<std::size_t>::max());
  const std::size_t command_width = std::min(kMostWhyCommand, width - std::min(width, kLeastBesides));
  for (std::size_t i = 0; i < std::min(most, processes.size()); ++i)
    add_process_row(grid, processes[i], origin_ns, command_width);
  // Those that matter least: command, peak, and when it began.
  for (const std::size_t column : {7u, 5u, 2u})
    if (grid.width() >= width) grid.drop_column(column);
  return fmt::format("\n{}:\n{}", title, grid.text());
}

/// Those with most CPU time, those that lived longest, and those that failed.
std::string lives_text(const SubjectScope& scope) {
  std::vector<LifeBar> bars;
  std::set<ProcessId> known;
  for (const auto* list : {&scope.failures, &scope.largest, &scope.longest})
    for (const SubjectProcess& each : *list) {
      if (!known.insert(id_of(*each.process)).second) continue;
      const std::uint64_t life_ns = each.end_ns - std::min(each.begin_ns, each.end_ns);
      bars.push_back({tool_name_of(*each.process), std::to_string(each.process->pid), each.begin_ns, each.end_ns,
                      each.cpu_ns.value_or(0) >= life_ns / 2 && each.cpu_ns.value_or(0) > 0});
    }
  return life_bars("processes over time", std::move(bars), scope.begin_ns, scope.end_ns, kMostLives);
}

std::string path_line(const Subjects& subjects, const SubjectScope& run) {
  const auto path = subjects.path_of(run);
  return path ? format_path(*path, {run.end_ns - std::min(run.begin_ns, run.end_ns)}) : "";
}

std::string path_text(const Subjects& subjects, const SubjectScope& run) {
  const auto path = subjects.path_of(run);
  if (!path) return {};
  std::vector<LifeBar> bars;
  for (const PathTask& each : path->tasks) {
    const SubjectScope* const task = subjects.task_by(each.task_key);
    const std::uint64_t cpu_ns = task != nullptr ? task->cpu_ns.value_or(Figure{}).value : 0;
    bars.push_back({each.name, "", each.begin_ns, each.end_ns,
                    cpu_ns >= (each.end_ns - std::min(each.begin_ns, each.end_ns)) / 2});
  }
  return '\n' + path_line(subjects, run) +
         life_bars(path->tasks.size() > kMostPathTasks
                       ? fmt::format("the longest {} of its tasks over time", kMostPathTasks)
                       : std::string("its tasks over time"),
                   std::move(bars), run.begin_ns, run.end_ns, kMostPathTasks);
}

std::string findings_text(const std::vector<Finding>& findings, const Subjects& subjects, const WhyOptions& options) {
  if (findings.empty()) return {};
  std::string out = "\nfindings:\n";
  for (const Finding& each : findings) out += format_finding(each, subjects.first_ns(), options.columns);
  return out;
}

std::string neighbors_text(const Subjects& subjects, const Subject& subject) {
  const std::vector<Neighbor> neighbors = subjects.neighbors_of(subject);
  std::string out;
  if (!neighbors.empty()) out = "\nat the same time, most CPU first:\n";
  Grid grid({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  if (!neighbors.empty()) grid.add({"  name", "together", "CPU", "read", "written"});
  for (std::size_t i = 0; i < std::min(kMostNeighborsShown, neighbors.size()); ++i) {
    const SubjectScope& scope = *neighbors[i].scope;
    grid.add({fmt::format("  {}", printable(name_of_scope(scope), kMostSubjectName)),
              format_duration(neighbors[i].together_ns), format_figure(scope.cpu_ns, format_duration),
              format_figure(scope.read_bytes, format_bytes), format_figure(scope.written_bytes, format_bytes)});
  }
  out += grid.text();
  if (neighbors.size() > kMostNeighborsShown)
    out += fmt::format("  {} {} more\n", symbols().ellipsis, neighbors.size() - kMostNeighborsShown);
  std::string disks;
  for (const BusyWhile& device : subjects.devices_of(subject)) {
    if (!device.busy_ns || *device.busy_ns == 0 || device.span_ns == 0) continue;
    const double share = static_cast<double>(*device.busy_ns) / static_cast<double>(device.span_ns);
    disks += fmt::format("  {}: busy {} of that time", printable(device.name), format_share(std::min(share, 1.0)));
    if (device.other != nullptr)
      disks += fmt::format("; of the other tasks, {} used it most ({})",
                           printable(name_of_scope(*device.other), kMostSubjectName), format_bytes(device.other_bytes));
    disks += '\n';
  }
  return out + (disks.empty() ? "" : "\ndisks meanwhile, for the whole host:\n" + disks);
}

std::string scope_head(const Subjects& subjects, const SubjectScope& scope, const WhyOptions& options) {
  std::string out =
      fmt::format("{} {}{}\n", scope.is_run ? "run" : "task", printable(name_of_scope(scope), kMostSubjectName),
                  scope.is_run ? "" : place_of(subjects, *scope.context, false));
  out += times_of(scope.begin_ns, scope.end_ns, scope.finished, subjects, options);
  if (!scope.finished) return out;
  out += fmt::format("  ended by {}; {}", ended_text(scope.exit_code, scope.exit_signal),
                     format_count(scope.processes, "process", "processes"));
  if (scope.failed != 0) out += fmt::format(", {} failed", scope.failed);
  out += "; " + figures_text(scope, scope.cpu_ns, scope.memory_bytes, scope.memory_at_most_bytes) + '\n';
  const Requested& requested = scope.requested;
  std::string asked;
  const auto add = [&asked](const std::string& part) { asked += (asked.empty() ? "" : ", ") + part; };
  if (requested.millicpus) add(fmt::format("{} CPUs", static_cast<double>(*requested.millicpus) / 1000));
  if (requested.memory_bytes) add("memory " + format_bytes(*requested.memory_bytes));
  if (requested.time_ns) add("time " + format_duration(*requested.time_ns));
  if (!asked.empty()) out += "  requested: " + asked + '\n';
  return out;
}

std::string process_head(const Subjects& subjects, const SubjectProcess& process, const WhyOptions& options) {
  const Process& is = *process.process;
  std::string out =
      fmt::format("process {} (pid {}){}\n", tool_name_of(is), is.pid, place_of(subjects, *is.context, true));
  if (const auto command = joined_command(*is.program)) out += "  " + printable(*command, 4 * kMostWhyCommand) + '\n';
  out += times_of(process.begin_ns, process.end_ns, !process.living, subjects, options);
  out += process.living ? "  " : fmt::format("  ended by {}; ", ended_text(process.exit_code, process.exit_signal));
  out += figures_text(process, exactly(process.cpu_ns), exactly(process.peak_bytes));
  if (process.cpu_before_ns)
    out += fmt::format("\n  since it was followed; before that, it had used {} of CPU",
                       format_duration(*process.cpu_before_ns));
  return out + '\n';
}

/// ", id ab/0123"; of a task that has no id, its first process.
std::string id_text(const Context& context) {
  const std::string process = process_name(context);
  if (!process.empty()) return ", " + process;
  return context.task_id ? ", id " + printable(*context.task_id, kMostSubjectName) : "";
}

}  // namespace

std::string why_text(const Subjects& subjects, const WhyOptions& options) {
  const std::vector<Finding> findings = subjects.findings();
  std::string out;
  if (findings.empty()) {
    out = subjects.is_polled()
              ? "nothing was found, but most failures, short processes, waits and files can't be seen "
                "without rights: 'tracerd check' says how to get them\n"
              : "nothing was found: no stall, no slowness, no failure that stands out; the report lists "
                "all that failed\n";
  } else {
    std::vector<const Finding*> all;
    for (const Finding& each : findings) all.push_back(&each);
    out = count_by_severity(all) + ":\n";
    for (const Finding& each : findings) out += '\n' + format_finding(each, subjects.first_ns(), options.columns);
  }
  const auto tasks = subjects.tasks();
  if (tasks.empty()) return out;
  out += '\n';
  const auto runs = subjects.runs();
  for (std::size_t i = 0; i < std::min(runs.size(), kMostTasksNamed); ++i)
    if (const std::string line = path_line(subjects, *runs[i]); !line.empty())
      out +=
          wrapped((runs.size() > 1 ? "run " + printable(name_of_scope(*runs[i]), kMostSubjectName) + ": " : "") + line,
                  options.columns);
  std::string slowest;
  for (std::size_t i = 0; i < std::min(kMostTasksNamed, tasks.size()); ++i)
    slowest += fmt::format("{}{} ({})", i == 0 ? "" : ", ", printable(name_of_scope(*tasks[i]), kMostSubjectName),
                           format_duration(tasks[i]->end_ns - tasks[i]->begin_ns));
  return out + wrapped(fmt::format("for details of a task: tracerd why FILE TASK; the slowest of {}: {}\n",
                                   tasks.size(), slowest),
                       options.columns);
}

std::string why_text(const Subjects& subjects, const Subject& subject, const WhyOptions& options) {
  const auto head = subject.scope != nullptr ? scope_head(subjects, *subject.scope, options)
                                             : process_head(subjects, *subject.process, options);
  std::string out = wrapped(head, options.columns) + time_text(subject);
  if (subject.scope != nullptr) {
    const SubjectScope& scope = *subject.scope;
    out += processes_text("processes, most CPU first; 'after' is since it began", scope.largest,
                          SubjectScope::kMostLargest, scope.begin_ns, options.columns);
    out += processes_text("failed", scope.failures, kMostFailuresShown, scope.begin_ns, options.columns);
    out += lives_text(scope);
    if (scope.is_run) out += path_text(subjects, scope);
  }
  return out + findings_text(subjects.findings_of(subject), subjects, options) + neighbors_text(subjects, subject);
}

std::string list_of_subjects(const std::vector<Subject>& subjects) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostCandidates, subjects.size()); ++i) {
    const Subject& each = subjects[i];
    if (each.scope != nullptr) {
      const Context& context = *each.scope->context;
      const auto& key = each.scope->is_run ? context.run_key : context.task_key;
      out += fmt::format("  {}  {} {}{}\n", key ? to_string(*key) : "?", each.scope->is_run ? "run" : "task",
                         printable(name_of_scope(*each.scope), kMostSubjectName),
                         each.scope->is_run ? "" : id_text(context));
    } else {
      const SubjectProcess& process = *each.process;
      out += fmt::format("  pid:{}  process {}, took {}, CPU {}: {}\n", process.process->pid,
                         tool_name_of(*process.process), format_duration(life_ns(process)),
                         process.cpu_ns ? format_duration(*process.cpu_ns) : kUnknownFigure,
                         printable(joined_command(*process.process->program).value_or("?"), kMostSubjectName));
    }
  }
  if (subjects.size() > kMostCandidates) out += fmt::format("  {} more\n", subjects.size() - kMostCandidates);
  return out;
}

}  // namespace tracer::internal
