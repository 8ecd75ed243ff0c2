// SPDX-License-Identifier: Apache-2.0
#include "terminal/live_line.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "context/task_name.hpp"
#include "history/script.hpp"
#include "show/figures.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"
#include "terminal/messages.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::format_count;
using tracer::internal::format_duration;
using tracer::internal::names_kind;
using tracer::internal::printable;
using tracer::internal::symbols;
namespace {

constexpr auto kFirst = std::chrono::seconds(2);
constexpr auto kFindingShown = std::chrono::seconds(10);
constexpr std::array<std::string_view, 2> kStandStill = {"stalled", "deadlocked_pipe"};
constexpr std::array<std::string_view, 3> kFailed = {"first_failure", "silent_failure", "killed_by_engine"};
constexpr std::size_t kMostStill = 64;
constexpr std::size_t kMostShown = 4;
constexpr std::size_t kLineNameWidth = 24;

constexpr unsigned kLeastRows = 4;
constexpr unsigned kLeastColumns = 20;

constexpr std::string_view kSaveCursor = "\0337";
constexpr std::string_view kRestoreCursor = "\0338";
constexpr std::string_view kAllRowsScroll = "\033[r";
/// Down and up again, in the same column: if it was the last row, everything has scrolled.
constexpr std::string_view kLeaveLastRow = "\033D\033[A";

/// The row, from 1 on, with this text, in no color, and nothing else.
std::string row_with(unsigned row, const std::string& text) {
  return fmt::format("\033[{};1H\033[m\033[K{}", row, text);
}
std::string rows_scroll(unsigned rows) { return fmt::format("\033[1;{}r", rows); }

bool is_one_of(std::span<const std::string_view> codes, std::string_view code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

winsize terminal_size() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

bool can_place_cursor() {
  const char* type = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && type != nullptr && std::string_view(type) != "dumb";
}

/// What has the terminal prints lines, and is of tracerd's own job: no editor, pager or shell has taken it over.
bool prints_lines() {
  termios settings{};
  return ::tcgetattr(STDERR_FILENO, &settings) == 0 && (settings.c_lflag & ICANON) != 0 &&
         ::tcgetpgrp(STDERR_FILENO) == ::getpgrp();
}

}  // namespace

namespace {

std::string task_of(const tracer::Context& context) {
  if (!context.task && !context.task_id) return {};
  return printable(tracer::internal::task_name(context), kLineNameWidth);
}

}  // namespace

std::string describe(const tracer::ProcessSample& sample) {
  const tracer::Program& program = *sample.process->program;
  std::string text = printable(program.tool.value_or(program.comm.value_or("?")), kLineNameWidth);
  if (!sample.progress || sample.progress->size_bytes == 0) return text;
  const tracer::Progress& progress = *sample.progress;
  text += fmt::format(" {:.0f} % of {}",
                      100.0 * static_cast<double>(progress.position_bytes) / static_cast<double>(progress.size_bytes),
                      printable(progress.file, kLineNameWidth));
  if (progress.bytes_per_s == std::uint64_t{0}) return text + ", no progress";
  if (progress.time_left_ns) text += fmt::format(", {} left", format_duration(*progress.time_left_ns));
  return text;
}

LiveLine::LiveLine(bool wanted) : on_terminal_(wanted && can_place_cursor()) {}

void LiveLine::saw(const tracer::TaskStart& start) {
  if (!history_ || !start.context->task_key || !names_kind(*start.context) || tasks_.size() >= kMostTasks) return;
  LivingTask task{tracer::kind_of(*start.context), start.start_ns};
  history_->want(task.kind);
  tasks_.insert_or_assign(*start.context->task_key, std::move(task));
}

void LiveLine::saw(const tracer::TaskFinish& finish) {
  if (finish.context->task_key) tasks_.erase(*finish.context->task_key);
}

std::optional<std::uint64_t> LiveLine::left_ns(const tracer::Context& context, std::uint64_t now_ns) const {
  const auto task = context.task_key ? tasks_.find(*context.task_key) : tasks_.end();
  if (task == tasks_.end() || now_ns < task->second.start_ns) return std::nullopt;
  const auto usual = history_->usual(task->second.kind);
  return usual ? usual->time_left_ns(now_ns - task->second.start_ns, {}) : std::nullopt;
}

void LiveLine::saw(const tracer::ProcessSample& sample) {
  const tracer::Context& context = *sample.process->context;
  add(sample.time_ns, 1,
      {context.engine_own ? std::string() : describe(sample), task_of(context), sample.account.cpu_ns.value_or(0),
       sample.progress.has_value(), left_ns(context, sample.time_ns)});
}

void LiveLine::saw(const tracer::ToolSample& sample) {
  add(sample.time_ns, sample.processes,
      {fmt::format("{} x {}", sample.processes, printable(sample.tool.value_or("?"), kLineNameWidth)),
       task_of(*sample.context), sample.account.cpu_ns.value_or(0), false, left_ns(*sample.context, sample.time_ns)});
}

void LiveLine::saw(const tracer::Finding& finding) {
  if (!on_terminal_) return;
  const Shown shown{finding.finding_key, finding.text, std::chrono::steady_clock::now()};
  if (is_one_of(kStandStill, finding.code)) {
    // It goes on again, or is over, or has stood for longer: where it was, if it was there.
    const auto known = std::find_if(still_.begin(), still_.end(),
                                    [&](const Shown& each) { return each.finding_key == finding.finding_key; });
    if (finding.state != "open") {
      if (known != still_.end()) still_.erase(known);
    } else if (known != still_.end()) {
      *known = shown;
    } else if (still_.size() < kMostStill) {
      still_.push_back(shown);
    }
    fresh_ = true;
  } else if (finding.severity == "error" || (finding.severity == "warning" && is_one_of(kFailed, finding.code))) {
    failed_ = shown;
    fresh_ = true;
  }
}

const LiveLine::Shown* LiveLine::shown() const noexcept {
  return failed_ ? &*failed_ : still_.empty() ? nullptr : &still_.back();
}

void LiveLine::drop_old_finding() {
  if (!failed_ || std::chrono::steady_clock::now() - failed_->since < kFindingShown) return;
  failed_.reset();
  fresh_ = true;
}

void LiveLine::add(std::uint64_t snapshot_ns, std::uint64_t processes, Running running) {
  if (!on_terminal_) return;
  if (snapshot_ns != snapshot_ns_) {
    snapshot_ns_ = snapshot_ns;
    running_.clear();
    processes_ = 0;
  }
  fresh_ = true;
  processes_ += processes;
  running_.push_back(std::move(running));
}

std::string LiveLine::line(std::size_t columns) const {
  std::vector<Running> all = running_;
  std::stable_sort(all.begin(), all.end(), [](const Running& a, const Running& b) {
    return a.has_progress != b.has_progress ? a.has_progress : a.cpu_ns > b.cpu_ns;
  });
  // Of each task what stands for it.
  std::set<std::string> tasks;
  std::erase_if(all, [&](const Running& one) {
    return one.text.empty() || (!one.task.empty() && !tasks.insert(one.task).second);
  });
  std::string text = shown() == nullptr ? "[" : "[" + shown()->text + " | ";
  text += tasks.empty() ? fmt::format("{} running", processes_)
                        : fmt::format("{}, {}", format_count(tasks.size(), "task", "tasks"),
                                      format_count(processes_, "process", "processes"));
  for (std::size_t i = 0; i < std::min(all.size(), kMostShown); ++i) {
    text += (i == 0 ? ": " : "; ") + (all[i].task.empty() ? "" : all[i].task + ": ") + all[i].text;
    if (all[i].left_ns) text += fmt::format(", usually {} more", format_duration(*all[i].left_ns));
  }
  if (all.size() > kMostShown) text += fmt::format("; {}", symbols().ellipsis);
  return printable(text + "]", columns - 2);
}

void LiveLine::update() {
  if (!on_terminal_) return;
  if (!prints_lines()) {
    // The rows are another's by now.
    give_rows_back("");
    return;
  }
  drop_old_finding();
  const bool too_early = shown() == nullptr && std::chrono::steady_clock::now() - begin_ < kFirst;
  if (!fresh_ || !messages_flow() || too_early) return;
  const winsize size = terminal_size();
  if (size.ws_row < kLeastRows || size.ws_col < kLeastColumns) return;
  fresh_ = false;
  row_ = size.ws_row;
  // The cursor and where it stands are the command's. Others may have let all rows scroll meanwhile: then it may be in
  // the last one.
  say("{0}{1}{2}{3}{0}{4}{5}{2}", kSaveCursor, kAllRowsScroll, kRestoreCursor, kLeaveLastRow, rows_scroll(row_ - 1),
      row_with(row_, line(size.ws_col)));
}

void LiveLine::clear() { give_rows_back(row_with(row_, "")); }

void LiveLine::give_rows_back(const std::string& last_row) {
  if (row_ != 0 && messages_flow()) say("{}{}{}{}", kSaveCursor, kAllRowsScroll, last_row, kRestoreCursor);
  row_ = 0;
}

}  // namespace tracerd
