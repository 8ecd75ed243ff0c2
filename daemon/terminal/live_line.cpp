// SPDX-License-Identifier: Apache-2.0
#include "terminal/live_line.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/tool_name.hpp"
#include "context/task_name.hpp"
#include "history/script.hpp"
#include "show/figures.hpp"
#include "show/printable.hpp"
#include "state/held_memory.hpp"
#include "state/process_spans.hpp"
#include "terminal/messages.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::format_duration;
using tracer::internal::names_kind;
using tracer::internal::printable;
namespace {

constexpr auto kFirst = std::chrono::seconds(2);
constexpr auto kFindingShown = std::chrono::seconds(10);
constexpr std::array<std::string_view, 2> kStandStill = {"stalled", "deadlocked_pipe"};
constexpr std::array<std::string_view, 3> kFailed = {"first_failure", "silent_failure", "killed_by_engine"};
constexpr std::size_t kMostStill = 64;
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

/// "bwa mem S1"
std::string name_of(const std::string& tool, const tracer::Context& context) {
  const std::string work = context.sample ? *context.sample : tracer::internal::task_name(context);
  return printable(tool, kLineNameWidth) + (work.empty() || work == tool ? "" : " " + printable(work, kLineNameWidth));
}

/// " 82.0 MiB"; empty: not known.
std::string memory_text(const tracer::ProcessSample& sample) {
  tracer::internal::HeldMemory held;
  held.add(sample);
  return held.bytes() ? " " + tracer::internal::format_bytes(*held.bytes()) : "";
}

/// "reads 61 %, 12 s left"
std::string progress_text(const tracer::Progress& progress) {
  std::string text =
      fmt::format("reads {:.0f} %", 100.0 * static_cast<double>(progress.position_bytes) /
                                        static_cast<double>(std::max<std::uint64_t>(progress.size_bytes, 1)));
  if (progress.bytes_per_s == std::uint64_t{0}) return text + ", no progress";
  if (progress.time_left_ns) text += fmt::format(", {} left", format_duration(*progress.time_left_ns));
  return text;
}

/// "0:14", "1:02:03"
std::string clock_text(std::chrono::steady_clock::duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return seconds < 3600 ? fmt::format("{}:{:02}", seconds / 60, seconds % 60)
                        : fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// "3 running, 7 done"
std::string counts_text(std::uint64_t running, std::uint64_t done, std::uint64_t failed, std::uint64_t queued) {
  std::string text;
  for (const auto& [count, what] :
       {std::pair(running, "running"), {done, "done"}, {failed, "failed"}, {queued, "queued"}})
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

}  // namespace

LiveLine::LiveLine(bool wanted) : on_terminal_(wanted && can_place_cursor()) {}

void LiveLine::add(const tracer::Event& event) {
  if (!on_terminal_) return;
  visit(
      [this](const auto& body) {
        if constexpr (requires { saw(body); }) saw(body);
        if constexpr (requires { counts_.saw(body); }) counts_.saw(body);
      },
      event);
}

void LiveLine::saw(const tracer::ProcessExit& exit) {
  ++(exit.failed() ? failed_processes_ : done_processes_);
  fresh_ = true;
}

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
  begin_snapshot(sample.time_ns);
  ++processes_;
  const tracer::Process& process = *sample.process;
  const Seen now{sample.time_ns, sample.account.cpu_ns.value_or(0)};
  const auto before = seen_before_.find(tracer::internal::id_of(process));
  const Seen since = before == seen_before_.end() ? Seen{process.start_ns, 0} : before->second;
  seen_.emplace(tracer::internal::id_of(process), now);
  const double share =
      now.time_ns <= since.time_ns || now.cpu_ns < since.cpu_ns
          ? 0
          : static_cast<double>(now.cpu_ns - since.cpu_ns) / static_cast<double>(now.time_ns - since.time_ns);
  if (process.context->engine_own) return;
  const std::string tool = tracer::internal::known_tool(*process.program).value_or("?");
  const std::uint64_t work = tracer::internal::work_key(*process.context);
  if (sample.progress) readers_[work] = {process.pid, tool, progress_text(*sample.progress)};
  if (!busiest_.text.empty() && share < busiest_.cpu_share) return;
  busiest_ = {fmt::format("{} {} CPU{}", name_of(tool, *process.context), tracer::internal::format_share(share),
                          memory_text(sample)),
              share, process.pid, work, left_ns(*process.context, sample.time_ns)};
}

void LiveLine::saw(const tracer::ToolSample& sample) {
  begin_snapshot(sample.time_ns);
  processes_ += sample.processes;
  // What they use now is not known of each.
  if (busiest_.text.empty())
    busiest_.text = fmt::format("{} x {}", sample.processes, name_of(sample.tool.value_or("?"), *sample.context));
}

void LiveLine::saw(const tracer::Finding& finding) {
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

void LiveLine::begin_snapshot(std::uint64_t time_ns) {
  if (time_ns == snapshot_ns_) return;
  snapshot_ns_ = time_ns;
  processes_ = 0;
  busiest_ = {};
  readers_.clear();
  seen_before_ = std::exchange(seen_, {});
  fresh_ = true;
}

std::string LiveLine::line(std::size_t columns) const {
  std::string text = clock_text(std::chrono::steady_clock::now() - begin_) + "  ";
  text += counts_.any() ? counts_text(counts_.running(), counts_.done(), counts_.failed(), counts_.queued())
                        : counts_text(processes_, done_processes_, failed_processes_, 0);
  if (shown() != nullptr) text += " | " + shown()->text;
  if (!busiest_.text.empty()) text += " | " + busiest_.text;
  if (const auto reader = readers_.find(busiest_.work); reader != readers_.end())
    text += fmt::format(", {}{}", reader->second.pid == busiest_.pid ? "" : reader->second.tool + " ",
                        reader->second.progress);
  if (busiest_.left_ns) text += fmt::format(", usually {} more", format_duration(*busiest_.left_ns));
  return printable(text, columns - 2);
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
