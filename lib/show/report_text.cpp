// SPDX-License-Identifier: Apache-2.0
#include "show/report_text.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/tool_name.hpp"
#include "context/task_name.hpp"
#include "report/report_sums.hpp"
#include "report/sums/task_tree.hpp"
#include "report/waste.hpp"
#include "report/waste_cost.hpp"
#include "show/certificate_text.hpp"
#include "show/character_width.hpp"
#include "show/critical_path_text.hpp"
#include "show/figures.hpp"
#include "show/findings_text.hpp"
#include "show/grid.hpp"
#include "show/printable.hpp"
#include "show/process_names.hpp"
#include "show/report_table.hpp"
#include "show/screen.hpp"
#include "show/touched_text.hpp"
#include "show/wrapped.hpp"

namespace tracer::internal {
namespace {

constexpr double kNotableEngine = 0.05;
constexpr std::uint64_t kLeastEngineNs = 1'000'000'000;
constexpr std::size_t kMostNameWidth = 32;
constexpr std::size_t kMostCommandWidth = 100;
constexpr std::size_t kMostTitleWidth = 200;
constexpr std::size_t kMostFailuresListed = 20;
constexpr std::size_t kMostSurvivors = 20;
constexpr std::size_t kMostPipelines = 5;
constexpr std::size_t kMostAwaits = 5;
constexpr std::size_t kMostRequested = 20;
constexpr std::uint64_t kLeastAwaitedNs = 1'000'000'000;
constexpr std::size_t kMostCgroups = 10;
constexpr std::size_t kMostEngines = 5;
/// Of one CPU; what costs less is not worth more than a word.
constexpr double kNotableCost = 0.01;

std::string command_of(const Process& process) {
  return joined_command(*process.program).value_or(process.program->comm.value_or("?"));
}

std::string tool_of(const Process& process) {
  return printable(known_tool(*process.program).value_or("?"), kMostNameWidth);
}

/// Of SIGSEGV, SIGPIPE and the like only the kernel is the sender, as everybody knows.
bool sender_matters(std::int32_t signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

std::string sender_of(const Failure& failure) {
  if (failure.oom_killed.value_or(false)) return ", by the kernel: out of memory";
  if (failure.sent_by && failure.sent_by->pid == failure.process->pid) return "";
  if (failure.sent_by) return fmt::format(", sent by {}", tool_of(*failure.sent_by));
  if (failure.exit_signal_sender == "kernel" && sender_matters(*failure.exit_signal)) return ", sent by the kernel";
  return "";
}

std::string status_of(const Failure& failure) {
  if (failure.exit_signal) {
    const char* name = ::sigabbrev_np(*failure.exit_signal);
    return fmt::format("signal {} ({}){}{}", *failure.exit_signal, name != nullptr ? name : "?",
                       failure.core_dumped ? ", core dumped" : "", sender_of(failure));
  }
  return fmt::format("status {}", failure.exit_code.value_or(0));
}

/// "bash (3 processes), make": those of one name that follow each other, such as subshells and their shell, are one.
std::string names_of(const std::vector<std::shared_ptr<const Process>>& processes) {
  std::string names;
  for (std::size_t i = 0; i < processes.size();) {
    const std::string name = tool_of(*processes[i]);
    std::size_t times = 1;
    while (i + times < processes.size() && tool_of(*processes[i + times]) == name) ++times;
    names += (names.empty() ? "" : ", ") + name + (times > 1 ? fmt::format(" ({} processes)", times) : "");
    i += times;
  }
  return names;
}

/// What came of it: of all like it, where there are several.
std::string outcome_of(const Failure& failure) {
  std::string text;
  if (!failure.passed_on_by.empty()) text = "passed on by " + names_of(failure.passed_on_by);
  if (failure.retried) {
    text += text.empty() ? "tried again, then succeeded" : "; tried again, then succeeded";
  } else if (failure.ignored_by) {
    text += (text.empty() ? "ignored by " : "; ignored by ") + tool_of(*failure.ignored_by);
  }
  if (failure.count == 1) return text;
  std::string counts;
  if (failure.passed_on != 0) counts = fmt::format("{} passed on", failure.passed_on);
  if (failure.ignored != 0) counts += fmt::format("{}{} ignored", counts.empty() ? "" : ", ", failure.ignored);
  return failure.retried ? counts + (counts.empty() ? "" : "; ") + "the first was tried again, then succeeded" : counts;
}

/// "head", and behind it as much of the command as fits into the line.
void append_with_command(std::string& out, const std::string& head, const Process& process,
                         std::optional<std::size_t> columns) {
  const std::size_t used = width_of(head) + 1;
  const std::size_t room = columns ? *columns - std::min(*columns, used) : kMostCommandWidth;
  out += head + printable(command_of(process), std::min(room, kMostCommandWidth)) + '\n';
}

/// Where no stage stands out there is nothing to do about it.
void append_pipelines(std::string& out, const Report& report) {
  std::size_t shown = 0;
  for (const Pipeline& pipeline : report.pipelines) {
    if (pipeline.bottleneck.empty()) continue;
    if (shown++ == kMostPipelines) break;
    std::string stages;
    for (const std::string& stage : pipeline.stages)
      stages += (stages.empty() ? "" : " | ") + printable(stage, kMostNameWidth);
    out +=
        fmt::format("{}pipe {}:\n  {} is the bottleneck: it spends {} of its time waiting on pipes, the other {} {}\n",
                    shown == 1 ? "\n" : "", stages, printable(pipeline.bottleneck, kMostNameWidth),
                    format_share(pipeline.bottleneck_share), pipeline.stages.size() > 2 ? "stages" : "stage",
                    format_share(pipeline.others_share));
  }
}

/// Where other tasks kept one waiting for a part of its time that counts.
void append_awaited(std::string& out, const Report& report) {
  struct Wait {
    const ReportRow* task;
    const AwaitedTask* other;
  };
  std::vector<Wait> waits;
  for (const ReportRow& row : report.tasks)
    for (const AwaitedTask& each : row.waits_for)
      if (each.wait_ns >= kLeastAwaitedNs && each.wait_ns >= row.wall_ns / 10) waits.push_back({&row, &each});
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.other->wait_ns > b.other->wait_ns; });
  if (!waits.empty() && out.empty()) out += '\n';
  for (std::size_t i = 0; i < waits.size() && i < kMostAwaits; ++i) {
    const auto& [task, other] = waits[i];
    const std::string name = other->name.empty() ? to_string(other->task_key) : other->name;
    const std::string own = task_name(task->task);
    out += fmt::format("task {} waited {} of its {} for task {}, by {}s\n",
                       printable(own.empty() ? task->name : own, kMostNameWidth), format_duration(other->wait_ns),
                       format_duration(task->wall_ns), printable(name, kMostNameWidth), printable(other->cause, 20));
  }
  if (waits.size() > kMostAwaits)
    out += fmt::format("{} {} waited for others\n", symbols().ellipsis,
                       format_count(waits.size() - kMostAwaits, "more task", "more tasks"));
}

void append_cgroups(std::string& out, const Report& report) {
  std::size_t shown = 0;
  for (const CgroupMemory& memory : report.cgroups) {
    // Where other processes run besides, its memory says nothing of what was traced.
    if (!memory.followed_wholly) continue;
    if (shown++ == kMostCgroups) break;
    const CgroupSample& at = memory.highest;
    out += fmt::format(
        "{}cgroup {}: peak {}", shown == 1 ? "\n" : "", printable(at.cgroup->path.value_or("?"), 100),
        with_bound(memory.peak_is_floor ? Bound::kAtLeast : Bound::kExact, format_bytes(memory.peak_bytes)));
    // Where nothing is left to explain, the parts exceed it: they are charged elsewhere, or of another moment.
    if (at.held_bytes && at.file_bytes && at.shmem_bytes && at.unexplained_bytes.value_or(0) != 0 &&
        at.memory_bytes.value_or(0) != 0)
      out += fmt::format(
          "; at {}: processes {}, shared memory and tmpfs files {}, page cache {}, kernel {}, unexplained {}",
          format_bytes(*at.memory_bytes), format_bytes(*at.held_bytes), format_bytes(*at.shmem_bytes),
          format_bytes(*at.file_bytes), at.kernel_bytes ? format_bytes(*at.kernel_bytes) : kUnknownFigure,
          format_share(static_cast<double>(*at.unexplained_bytes) / static_cast<double>(*at.memory_bytes)));
    out += '\n';
  }
}

/// By engine, without tracerd: it is none, and only begins tasks of scripts.
void add_engines(const std::vector<ReportNode>& nodes, std::map<std::string, std::uint64_t>& cpu_ns) {
  for (const ReportNode& node : nodes) {
    add_engines(node.below, cpu_ns);
    if (node.level != SummaryLevel::kEngine || !node.row.cpu_ns) continue;
    const std::string engine = engine_of(node.row.name);
    if (!engine.empty() && engine != "tracerd") cpu_ns[engine] += node.row.cpu_ns->value;
  }
}

/// Where an engine's wrappers and pollers cost a notable part of a run.
void append_engines(std::string& out, const Report& report) {
  std::size_t notable = 0;
  for (const ReportNode& run : report.tree) {
    if (run.level != SummaryLevel::kRun || !run.row.cpu_ns || run.row.cpu_ns->value == 0) continue;
    std::map<std::string, std::uint64_t> engines;
    add_engines(run.below, engines);
    for (const auto& [engine, cpu_ns] : engines) {
      const double share = static_cast<double>(cpu_ns) / static_cast<double>(run.row.cpu_ns->value);
      if (cpu_ns < kLeastEngineNs || share < kNotableEngine || ++notable > kMostEngines) continue;
      // Nextflow's exec: and Snakemake's functions run in the engine's own process.
      const std::string_view what = is_launcher(engine) ? "'s own work" : " itself, with what the pipeline runs in it,";
      out += fmt::format("\n{}{} took {} of the CPU time of {}.\n", printable(engine, kMostNameWidth), what,
                         format_share(share), printable(run.row.name, kMostNameWidth));
    }
  }
  if (notable > kMostEngines)
    out += fmt::format("\nIt took as notable a part of {}.\n",
                       format_count(notable - kMostEngines, "more run", "more runs"));
}

/// "4 CPUs, used 1.2; 8.0 GiB, used at most 5.1 GiB"
std::string text_of(const RequestedUse& use, const std::optional<Figure>& tasks) {
  std::string text;
  const auto add = [&](const RequestedPart& part, const std::string& requested, const std::string& used) {
    text += (text.empty() ? "" : "; ") + requested + ", used " + used;
    if (tasks && part.tasks < tasks->value)
      text += fmt::format(" ({} of {} tasks)", part.tasks, with_bound(tasks->bound, fmt::format("{}", tasks->value)));
  };
  const auto cpus = [](std::uint64_t millicpus) {
    return fmt::format("{:.3g}", static_cast<double>(millicpus) / 1000);
  };
  if (const auto& part = use.millicpus)
    add(*part, cpus(part->requested) + (part->requested == 1000 ? " CPU" : " CPUs"),
        with_bound(part->used.bound, cpus(part->used.value)));
  if (const auto& part = use.memory_bytes)
    add(*part, format_bytes(part->requested),
        (part->used.bound == Bound::kExact ? "at most " : "") +
            with_bound(part->used.bound, format_bytes(part->used.value)) +
            (part->used_at_most ? " " + with_bound(Bound::kAtMost, format_bytes(*part->used_at_most)) : ""));
  return text;
}

void append_requested(std::vector<std::string>& lines, const std::vector<ReportNode>& nodes,
                      const std::string& indent) {
  for (const ReportNode& node : nodes) {
    if (!node.row.requested_use) continue;
    lines.push_back(fmt::format("{}{}: requested {}\n", indent, printable(node.row.name, kMostNameWidth),
                                text_of(*node.row.requested_use, node.row.tasks)));
    append_requested(lines, node.below, indent + "  ");
  }
}

void append_requested(std::string& out, const Report& report) {
  std::vector<std::string> lines;
  append_requested(lines, report.tree, "");
  for (std::size_t i = 0; i < lines.size() && i < kMostRequested; ++i) out += (i == 0 ? "\n" : "") + lines[i];
  if (lines.size() > kMostRequested)
    out += fmt::format("{} {} requested something\n", symbols().ellipsis,
                       format_count(lines.size() - kMostRequested, "more step or run", "more steps and runs"));
}

void append_queue(std::string& out, const Report& report) {
  const ReportRow& all = report.total;
  std::string text;
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(all.queued, "queued");
  add(all.elsewhere, "elsewhere");
  add(all.withdrawn, "withdrawn");
  add(all.expired, "expired");
  if (all.queued_ns != 0)
    text +=
        fmt::format("{}those that started waited {} in all", text.empty() ? "" : "; ", format_duration(all.queued_ns));
  if (!text.empty()) out += "\nsubmitted tasks: " + text + '\n';
}

void append_waste(std::string& out, const Report& report) {
  const Waste waste = waste_of(report);
  const auto part = [](const Waste::Part& of, const char* unit, const char* of_what) {
    const bool is_short = of.requested() < 0.1;
    const int factor = is_short ? 60 : 1;
    const int places = factor * of.requested() < 1 ? 3 : 1;
    return fmt::format("{:.{}f} of {:.{}f} {} {}{} ({})", factor * of.unused(), places, factor * of.requested(), places,
                       unit, is_short ? "minutes" : "hours", of_what, format_share(of.unused() / of.requested()));
  };
  std::string text;
  if (waste.cpu_hours.requested_units != 0) text = part(waste.cpu_hours, "CPU", "");
  if (waste.memory_gib_hours.requested_units != 0)
    text += (text.empty() ? "" : " and ") + part(waste.memory_gib_hours, "GiB", " of memory");
  if (text.empty()) return;
  const auto cost = waste_cost_of(report);
  const std::uint64_t tasks = std::max(waste.cpu_hours.tasks, waste.memory_gib_hours.tasks);
  out += fmt::format("\nwaste: {} {} requested, and did not use, {}{}\n", tasks, tasks == 1 ? "task" : "tasks", text,
                     cost ? "; " + printable(cost->text()) : "");
}

void append_failures(std::string& out, const Report& report, std::optional<std::size_t> columns) {
  if (report.failures_seen == 0) return;
  const Bound bound = report.completeness.rows_are_whole ? Bound::kExact : Bound::kAtLeast;
  out += fmt::format("\n{} failed:\n", with_bound(bound, fmt::format("{}", report.failures_seen)));
  std::uint64_t shown = 0;
  for (std::size_t i = 0; i < std::min(kMostFailuresListed, report.failures.size()); ++i) {
    const Failure& failure = report.failures[i];
    const Process& process = *failure.process;
    const std::string head = fmt::format("  {}  {}  pid {}  ", tool_of(process), status_of(failure), process.pid);
    append_with_command(out, head, process, columns);
    if (const std::string outcome = outcome_of(failure); !outcome.empty())
      out += wrapped(fmt::format("    {}\n", outcome), columns);
    if (failure.count > 1) out += fmt::format("    {} {} more like it\n", symbols().ellipsis, failure.count - 1);
    shown += failure.count;
  }
  if (report.failures_seen > shown)
    out += fmt::format("  {} and {} more: --by tool counts all\n", symbols().ellipsis, report.failures_seen - shown);
}

void append_excused(std::string& out, const Report& report) {
  const auto& [reader_had_enough, ended_by_starter] = report.excused;
  if (reader_had_enough + ended_by_starter == 0) return;
  const auto count = [](std::uint64_t processes) { return format_count(processes, "process", "processes"); };
  std::string text;
  if (reader_had_enough != 0)
    text = count(reader_had_enough) + " that stopped because the reader had enough (such as head)";
  if (ended_by_starter != 0)
    text += (text.empty() ? "" : ", ") + count(ended_by_starter) + " that " + (ended_by_starter == 1 ? "was" : "were") +
            " ended by what had started " + (ended_by_starter == 1 ? "it" : "them");
  out += fmt::format("\nnot counted as failed: {}\n", text);
}

void append_survivors(std::string& out, const Report& report, std::optional<std::size_t> columns) {
  if (report.survivors.empty()) return;
  out += fmt::format("\n{} still running:\n", report.survivors.size());
  for (std::size_t i = 0; i < std::min(kMostSurvivors, report.survivors.size()); ++i) {
    const auto& [sample, begin_ns] = report.survivors[i];
    const Process& process = *sample.process;
    const auto text = [](const std::optional<std::uint64_t>& value, std::string (*format)(std::uint64_t)) {
      return value ? format(*value) : std::string(kUnknownFigure);
    };
    const std::string head = fmt::format(
        "  pid {}  {}  so far: {}, CPU {}, read {}, written {}  ", process.pid, tool_of(process),
        format_duration(sample.time_ns - std::min(sample.time_ns, begin_ns)),
        text(sample.account.cpu_ns, format_duration), format_figure(bytes_read(sample.account), format_bytes),
        format_figure(bytes_written(sample.account), format_bytes));
    append_with_command(out, head, process, columns);
  }
  if (report.survivors.size() > kMostSurvivors)
    out += fmt::format("  {} {} more\n", symbols().ellipsis, report.survivors.size() - kMostSurvivors);
}

/// Of a session that is shorter, a share says nothing of what a longer one would cost.
std::optional<double> telling_share(const ReportCost& cost) {
  constexpr double kLeastNs = 10e9;
  const double share = cost.cpu_share.value_or(0);
  return share > 0 && static_cast<double>(cpu_since_start(cost)) / share >= kLeastNs ? cost.cpu_share : std::nullopt;
}

/// Empty: it is not known.
std::string cost_of(const ReportCost& cost, bool in_full) {
  if (!cost.cpu_ns) return {};
  std::string text = "tracing cost: CPU ";
  if (cost.start_cpu_ns) text += fmt::format("{} to start, then ", format_duration(*cost.start_cpu_ns));
  text += format_duration(cpu_since_start(cost));
  if (const auto share = telling_share(cost)) text += fmt::format(" ({:.1f} % of one)", *share * 100);
  if (!in_full) return text;
  text += cost.kernel_ns ? fmt::format(", in the kernel {}", format_duration(*cost.kernel_ns))
                         : ", in the kernel not measured";
  if (cost.memory_bytes) text += fmt::format(", memory {}", format_bytes(*cost.memory_bytes));
  if (cost.kernel_memory_bytes) text += fmt::format(", kernel memory {}", format_bytes(*cost.kernel_memory_bytes));
  return text;
}

/// What is in no row although nothing was lost.
std::string not_in_rows(const Completeness& certificate) {
  std::string text;
  if (certificate.attached != 0)
    text += fmt::format("{} before tracing began; figures count from then{}\n",
                        format_count(certificate.attached, "process ran", "processes ran"),
                        certificate.cpu_before_ns == 0
                            ? ""
                            : fmt::format(" ({} of CPU before)", format_duration(certificate.cpu_before_ns)));
  for (const auto& [daemon, calls] : certificate.handed_over)
    text += fmt::format("{} was asked to run something ({}): what its daemon ran is not in these figures\n", daemon,
                        format_count(calls, "call", "calls"));
  return text;
}

/// One line if all is well and it fits.
void append_certificate(std::string& out, const Report& report, std::optional<std::size_t> columns) {
  const Completeness& certificate = report.completeness;
  const bool notable = telling_share(report.cost).value_or(0) > kNotableCost;
  out += certificate.complete ? "\ncomplete: " : certificate.missed_at_most ? "\n" : "\nNOT complete: ";
  out += seen_text(certificate);
  if (!certificate.rows_are_whole && !certificate.missed_at_most)
    out += certificate.total_is_whole
               ? fmt::format(
                     "\nThe kernel added up the line 'total' besides: processes, CPU, read, written and failed "
                     "are whole there, unless marked {}, {} or -",
                     symbols().at_least, symbols().at_most)
               : "\nSums are lower bounds: no row has what is missing";
  const bool all_well = certificate.complete && certificate.missing.empty() && !notable;
  if (all_well) {
    const std::string cost = cost_of(report.cost, false);
    const std::size_t line = width_of(out.substr(out.rfind('\n') + 1));
    if (!cost.empty()) out += (columns && line + 2 + width_of(cost) > *columns ? "\n" : "; ") + cost;
    out += '\n' + not_in_rows(certificate);
    return;
  }
  out += '\n';
  for (const MissingFamilies& each : missing_families(certificate))
    out += fmt::format("{}: {} [{}]\n", each.names, each.problem->what, to_string(each.problem->code));
  if (const std::string cost = cost_of(report.cost, true); !cost.empty()) out += cost + '\n';
  out += not_in_rows(certificate);
}

}  // namespace

ReportNotes format_notes(const Report& report, std::optional<std::size_t> columns) {
  ReportNotes notes;
  notes.findings = format_findings(report.findings, columns);
  notes.paths = format_paths(report);
  append_pipelines(notes.pipelines, report);
  append_awaited(notes.pipelines, report);
  append_cgroups(notes.cgroups, report);
  notes.touched = format_touched(report);
  append_engines(notes.engines, report);
  append_requested(notes.requested, report);
  append_queue(notes.queue, report);
  append_waste(notes.waste, report);
  append_failures(notes.failures, report, columns);
  append_excused(notes.excused, report);
  append_survivors(notes.survivors, report, columns);
  append_certificate(notes.certificate, report, columns);
  for (std::string* each : {&notes.paths, &notes.pipelines, &notes.cgroups, &notes.touched, &notes.engines,
                            &notes.requested, &notes.queue, &notes.waste, &notes.certificate})
    *each = wrapped(*each, columns);
  return notes;
}

std::string format_status(const Failure& failure) { return status_of(failure); }
std::string format_outcome(const Failure& failure) { return outcome_of(failure); }

std::string format_report(const std::string& title, const Report& report, std::optional<By> by,
                          std::optional<std::size_t> columns) {
  const ReportNotes notes = format_notes(report, columns);
  const std::string verdict = report.verdict.empty() ? "" : wrapped(printable(report.verdict) + '\n', columns);
  return fmt::format("\n{}\n{}\n", printable(title, columns ? *columns - 1 : kMostTitleWidth), verdict) +
         (notes.findings.empty() ? "" : notes.findings + '\n') + format_tables(report, by, columns) + notes.paths +
         notes.pipelines + notes.cgroups + notes.touched + notes.engines + notes.queue + notes.requested + notes.waste +
         notes.failures + notes.excused + notes.survivors + notes.certificate;
}

}  // namespace tracer::internal
