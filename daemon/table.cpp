// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"
#include "printable.hpp"
#include "time_bar.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace tracerd {
namespace {

using tracer::SummaryRow;

constexpr std::size_t kMostRows = 40;
constexpr std::size_t kMostNameWidth = 32;
constexpr std::size_t kMostCommandBytes = 100;
constexpr const char* kUnknown = "-";
constexpr const char* kAtLeast = "≥ ";
constexpr const char* kAtMost = "≤ ";

using Cells = std::array<std::string, 10>;
constexpr std::size_t kTimeColumn = 4;

std::string format_share(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", *share * 100) : kUnknown;
}

/// A sum in which some are missing is a bound; one of nothing is no number.
std::string at_least(std::uint64_t unknown, std::uint64_t sum, const std::string& text) {
  if (unknown == 0) return text;
  return sum == 0 ? kUnknown : kAtLeast + text;
}

/// Of a tool: of its largest process. Of a task: of all that lived at once, of which the largest process is the least.
std::string peak_of(const SummaryRow& row, bool of_task) {
  const std::optional<std::uint64_t>& peak = row.task_peak_bytes ? row.task_peak_bytes : row.peak_rss_bytes;
  if (!peak) return kUnknown;
  const bool whole =
      of_task ? row.task_peak_bytes && row.unknown_snapshots == 0 && !row.task_peak_is_floor : row.unknown_peaks == 0;
  return at_least(whole ? 0 : 1, *peak, format_bytes(*peak));
}

std::string read_of(const SummaryRow& row) {
  if (row.unbounded_reads != 0) return at_least(row.unbounded_reads, row.read_bytes, format_bytes(row.read_bytes));
  return row.unknown_reads == 0 ? format_bytes(row.read_bytes) : kAtMost + format_bytes(row.read_at_most_bytes);
}

Cells cells_of(const SummaryRow& row, bool of_task = false) {
  return {printable(row.name, kMostNameWidth),
          fmt::format("{}", row.processes),
          format_duration(row.wall_ns),
          at_least(row.unknown_cpus, row.cpu_ns, format_duration(row.cpu_ns)),
          time_bar(row.ledger),
          at_least(row.unknown_cpus, row.cpu_ns, format_share(row.cpu_utilization())),
          peak_of(row, of_task),
          read_of(row),
          at_least(row.unknown_writes, row.written_bytes, format_bytes(row.written_bytes)),
          row.failed == 0 ? "" : fmt::format("{}", row.failed)};
}

/// Characters, not bytes: names and "≥" may be UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void append_grid(std::string& out, const std::vector<Cells>& lines) {
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  for (const Cells& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - width_of(line[i]), ' ');
      text += i == 0 ? line[i] + padding : "  " + padding + line[i];
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + '\n';
  }
}

std::string command_of(const tracer::Process& process) {
  std::string command;
  if (process.argv)
    for (const std::string& word : *process.argv) command += (command.empty() ? "" : " ") + word;
  if (command.empty()) command = process.exe.value_or(process.comm.value_or("?"));
  return printable(command, kMostCommandBytes);
}

std::string status_of(const tracer::Failure& failure) {
  if (failure.exit_signal) {
    const char* name = ::sigabbrev_np(*failure.exit_signal);
    return fmt::format("signal {} ({}){}", *failure.exit_signal, name != nullptr ? name : "?",
                       failure.core_dumped ? ", core dumped" : "");
  }
  return fmt::format("status {}", failure.exit_code.value_or(0));
}

void append_failures(std::string& out, const tracer::Summary& summary) {
  if (summary.failed() == 0) return;
  out += fmt::format("\n{} failed:\n", summary.failed());
  for (const tracer::Failure& failure : summary.failures())
    out += fmt::format("  {}  pid {}  {}  {}\n", status_of(failure), failure.process->pid,
                       printable(failure.process->tool.value_or(failure.process->comm.value_or("?")), kMostNameWidth),
                       command_of(*failure.process));
  if (summary.failed() > summary.failures().size())
    out += fmt::format("  … and {} more\n", summary.failed() - summary.failures().size());
}

void append_survivors(std::string& out, const tracer::Summary& summary) {
  const std::vector<tracer::ProcessSample> survivors = summary.survivors();
  if (survivors.empty()) return;
  out += fmt::format("\n{} still running:\n", survivors.size());
  std::size_t shown = 0;
  for (const tracer::ProcessSample& sample : survivors) {
    if (++shown > tracer::Summary::kMaxFailures) {
      out += fmt::format("  … and {} more\n", survivors.size() - shown + 1);
      break;
    }
    const auto text = [](const std::optional<std::uint64_t>& value, std::string (*format)(std::uint64_t)) {
      return value ? format(*value) : std::string(kUnknown);
    };
    out += fmt::format("  pid {}  {}  so far: {}, CPU {}, read {}, written {}  {}\n", sample.process->pid,
                       printable(sample.process->tool.value_or("?"), kMostNameWidth),
                       format_duration(sample.time_ns - std::min(sample.time_ns, sample.process->start_ns)),
                       text(sample.account.cpu_ns, format_duration), text(sample.account.read_bytes, format_bytes),
                       text(sample.account.written_bytes, format_bytes), command_of(*sample.process));
  }
}

void append_pipelines(std::string& out, const tracer::Summary& summary) {
  constexpr std::size_t kMostPipelines = 5;
  std::size_t shown = 0;
  for (const tracer::Pipeline& pipeline : summary.pipelines()) {
    if (shown++ == kMostPipelines) break;
    std::string stages;
    for (const std::string& stage : pipeline.stages)
      stages += (stages.empty() ? "" : " | ") + printable(stage, kMostNameWidth);
    out += fmt::format("{}pipe: {}\n", shown == 1 ? "\n" : "", stages);
    if (pipeline.bottleneck.empty()) {
      out += "  no stage holds the others back\n";
    } else {
      out += fmt::format("  {} holds the others back: it waits for pipes {:.0f} % of its time, they {:.0f} %\n",
                         printable(pipeline.bottleneck, kMostNameWidth), pipeline.bottleneck_share * 100,
                         pipeline.others_share * 100);
    }
  }
}

void append_cgroups(std::string& out, const tracer::Summary& summary) {
  constexpr std::size_t kMostCgroups = 10;
  std::size_t shown = 0;
  for (const tracer::CgroupMemory& memory : summary.cgroups()) {
    // Where others run besides, its memory says nothing of what was traced.
    if (!memory.followed_wholly) continue;
    if (shown++ == kMostCgroups) break;
    const tracer::CgroupSample& at = memory.highest;
    out += fmt::format("{}cgroup {}: peak {}", shown == 1 ? "\n" : "", printable(at.cgroup.value_or("?"), 100),
                       format_bytes(memory.peak_bytes));
    if (at.held_bytes && at.file_bytes && at.unexplained_bytes && at.memory_bytes.value_or(0) != 0)
      out += fmt::format("; at {}: processes {}, page cache {}, kernel {}, unexplained {:.0f} %",
                         format_bytes(*at.memory_bytes), format_bytes(*at.held_bytes), format_bytes(*at.file_bytes),
                         at.kernel_bytes ? format_bytes(*at.kernel_bytes) : kUnknown,
                         100.0 * static_cast<double>(*at.unexplained_bytes) / static_cast<double>(*at.memory_bytes));
    out += '\n';
  }
}

void append_legend(std::string& out, const std::vector<Cells>& lines) {
  std::string letters;
  std::string numbers;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i][0] != "step") letters += lines[i][kTimeColumn];
    for (std::size_t column = 1; column < lines[i].size(); ++column)
      if (column != kTimeColumn) numbers += lines[i][column];
  }
  const std::string legend = time_bar_legend(letters);
  if (!legend.empty()) out += "\n" + legend + "\n";
  if (numbers.find(kAtLeast) != std::string::npos) out += "≥ at least: of some of it the number is not known\n";
  if (numbers.find(kAtMost) != std::string::npos) out += "≤ at most: what exec itself read may be in it\n";
}

void append_completeness(std::string& out, const TableInput& input) {
  std::uint64_t ended = 0;
  for (const tracer::ContextTotals& totals : input.totals) ended += totals.ended;
  const std::uint64_t exits = input.summary.exits();
  if (input.statistics.lost() == 0 && exits == ended) {
    out += fmt::format("\ncomplete: {} of {} ended processes seen, nothing lost\n", exits, ended);
    return;
  }
  out += fmt::format("\nNOT complete: {} of {} ended processes seen", exits, ended);
  for (const auto& [cause, count] : input.statistics.losses) out += fmt::format("; {}: {}", cause, count);
  const auto& losses = input.statistics.losses;
  const bool sums_whole =
      std::all_of(losses.begin(), losses.end(), [](const auto& loss) { return loss.first.starts_with("ring_full_"); });
  out += sums_whole
             ? "\nprocesses, CPU, read, written and failed of the line 'total' were added up in the kernel, beside "
               "the events: where no ≥, ≤ or - says otherwise, they are whole all the same\n"
             : "\nthe line 'total' may be too small by what these processes consumed\n";
}

/// What is not there though it was asked for, and what the tracing itself cost.
void append_cost(std::string& out, const TableInput& input) {
  for (const tracer::SignalState& state : input.signals)
    if (state.problem)
      out += fmt::format("{} {}: {} [{}]\n", state.active ? "not all of" : "without", to_string(state.family),
                         state.problem->what, to_string(state.problem->code));
  const tracer::OwnCost& cost = input.statistics.cost;
  if (input.signals.empty() || input.elapsed_ns == 0) return;
  out += fmt::format("tracing cost: CPU {} ({:.1f} % of one)", format_duration(cost.cpu_ns),
                     100.0 * static_cast<double>(cost.cpu_ns) / static_cast<double>(input.elapsed_ns));
  out += cost.kernel_ns ? fmt::format(", in the kernel {}", format_duration(*cost.kernel_ns))
                        : ", in the kernel not measured";
  if (cost.memory_bytes) out += fmt::format(", memory {}", format_bytes(*cost.memory_bytes));
  if (cost.kernel_memory_bytes) out += fmt::format(", kernel memory {}", format_bytes(*cost.kernel_memory_bytes));
  out += '\n';
}

/// Sums that no lost event can change.
SummaryRow kernel_total(const TableInput& input) {
  SummaryRow row = input.summary.total();
  if (input.totals.empty()) return row;
  std::uint64_t cpu_ns = 0;
  row.processes = row.failed = 0;
  for (const tracer::ContextTotals& totals : input.totals) {
    row.processes += totals.ended;
    row.failed += totals.failed;
    cpu_ns += totals.account.cpu_ns.value_or(0);
  }
  const bool complete = input.statistics.lost() == 0 && input.summary.exits() == row.processes;
  if (!complete || input.lived_before) row.wall_ns = std::max(row.wall_ns, input.elapsed_ns);
  if (!complete || row.unknown_cpus != 0) {
    row.cpu_ns = cpu_ns;
    row.unknown_cpus = 0;
  }
  // What exec itself has read is known better of each program than of all processes together.
  if (complete) return row;
  const bool io_is_known = std::all_of(input.totals.begin(), input.totals.end(),
                                       [](const auto& totals) { return totals.account.written_bytes.has_value(); });
  if (!io_is_known) {
    row.unbounded_reads = std::max<std::uint64_t>(row.unbounded_reads, 1);
    row.unknown_writes = std::max<std::uint64_t>(row.unknown_writes, 1);
    return row;
  }
  row.read_bytes = row.read_at_most_bytes = row.unknown_reads = row.unbounded_reads = 0;
  row.written_bytes = row.unknown_writes = 0;
  for (const tracer::ContextTotals& totals : input.totals) {
    const tracer::Account& account = totals.account;
    row.read_bytes += account.read_bytes.value_or(0);
    row.read_at_most_bytes += account.read_bytes.value_or(account.read_at_most_bytes.value_or(0));
    if (!account.read_bytes) ++row.unknown_reads;
    row.written_bytes += *account.written_bytes;
  }
  return row;
}

}  // namespace

std::string format_duration(std::uint64_t ns) {
  const auto seconds = static_cast<double>(ns) / 1e9;
  if (seconds >= 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 100) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", seconds * 1e6);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_table(const TableInput& input) {
  std::string out = fmt::format("\n{}\n\n", printable(input.title, 200));
  std::vector<Cells> lines;
  lines.push_back(
      {"tool", "processes", "wall", "CPU", "where time went", "CPU/wall", "peak memory", "read", "written", "failed"});
  const std::vector<SummaryRow> tools = input.summary.by_tool();
  for (std::size_t i = 0; i < std::min(tools.size(), kMostRows); ++i) lines.push_back(cells_of(tools[i]));
  if (tools.size() > kMostRows) lines.push_back({fmt::format("… and {} more tools", tools.size() - kMostRows)});
  lines.push_back(cells_of(kernel_total(input), true));
  const std::vector<SummaryRow> steps = input.summary.by_step();
  if (!steps.empty()) {
    lines.emplace_back();
    lines.push_back({"step", "processes", "wall", "CPU", "where time went", "CPU/wall", "peak memory", "read",
                     "written", "failed"});
    for (const SummaryRow& step : steps) lines.push_back(cells_of(step, true));
  }
  append_grid(out, lines);
  append_legend(out, lines);
  append_pipelines(out, input.summary);
  append_cgroups(out, input.summary);
  append_failures(out, input.summary);
  append_survivors(out, input.summary);
  append_completeness(out, input);
  append_cost(out, input);
  return out;
}

}  // namespace tracerd
