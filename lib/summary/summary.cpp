// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <algorithm>

#include "decode/account.hpp"

namespace tracer {
namespace {

constexpr const char* kNoTool = "(unknown)";

void add_to(SummaryRow& row, const ProgramAccount& program, bool peak_matters) {
  const Account& account = program.account;
  row.cpu_ns += account.cpu_ns.value_or(0);
  row.read_bytes += account.read_bytes.value_or(0);
  row.read_at_most_bytes += account.read_bytes.value_or(account.read_at_most_bytes.value_or(0));
  if (!account.read_bytes && account.read_at_most_bytes.value_or(0) > kMostExecReadBytes) ++row.unknown_reads;
  row.written_bytes += account.written_bytes.value_or(0);
  if (account.peak_rss_bytes) {
    row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *account.peak_rss_bytes);
  } else if (peak_matters) {
    ++row.unknown_peaks;
  }
  if (!program.start_ns || !program.end_ns) return;
  if (row.first_start_ns == 0 || *program.start_ns < row.first_start_ns) row.first_start_ns = *program.start_ns;
  row.last_end_ns = std::max(row.last_end_ns, *program.end_ns);
}

/// Of a row that spans time: from its first start to its last end.
SummaryRow spanned(SummaryRow row) {
  row.wall_ns = row.last_end_ns - std::min(row.first_start_ns, row.last_end_ns);
  return row;
}

}  // namespace

void Summary::add_program(const Process& process, const ProgramAccount& program, bool peak_matters) {
  SummaryRow& by_tool = tools_[program.tool.value_or(kNoTool)];
  add_to(by_tool, program, peak_matters);
  if (program.start_ns && program.end_ns && *program.end_ns > *program.start_ns)
    by_tool.wall_ns += *program.end_ns - *program.start_ns;
  add_to(total_, program, peak_matters);
  if (process.context.step) add_to(steps_[*process.context.step], program, peak_matters);
}

void Summary::add(const Event& event) {
  if (const auto* exec = std::get_if<ProcessExec>(&event)) {
    // Of a mere copy of the parent, before its first exec, nobody asks for the peak.
    add_program(*exec->process, exec->ended, exec->ended.start_ns != exec->process->start_ns);
  } else if (const auto* exit = std::get_if<ProcessExit>(&event)) {
    ++exits_;
    add_program(*exit->process, exit->program, true);
    const std::uint64_t failed = exit->failed() ? 1 : 0;
    const auto count = [&](SummaryRow& row) {
      ++row.processes;
      row.failed += failed;
    };
    count(tools_[exit->program.tool.value_or(kNoTool)]);
    count(total_);
    if (exit->process->context.step) count(steps_[*exit->process->context.step]);
    failed_ += failed;
    if (failed != 0 && failures_.size() < kMaxFailures)
      failures_.push_back({exit->process, exit->exit_code, exit->exit_signal, exit->core_dumped});
  } else if (const auto* sample = std::get_if<ProcessSample>(&event)) {
    survivors_.push_back(*sample);
  } else if (const auto* loss = std::get_if<Loss>(&event)) {
    losses_ += loss->count;
  } else if (const auto* end = std::get_if<SessionEnd>(&event)) {
    end_ = *end;
  }
}

std::vector<SummaryRow> Summary::by_tool() const {
  std::vector<SummaryRow> rows;
  for (const auto& [name, row] : tools_) {
    rows.push_back(row);
    rows.back().name = name;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  return rows;
}

std::vector<SummaryRow> Summary::by_step() const {
  std::vector<SummaryRow> rows;
  for (const auto& [name, row] : steps_) {
    rows.push_back(spanned(row));
    rows.back().name = name;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first_start_ns < b.first_start_ns; });
  return rows;
}

SummaryRow Summary::total() const {
  SummaryRow row = spanned(total_);
  row.name = "total";
  return row;
}

}  // namespace tracer
