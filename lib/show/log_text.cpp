// SPDX-License-Identifier: Apache-2.0
#include "show/log_text.hpp"

#include <algorithm>
#include <ctime>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <tracer/report.hpp>

#include "base/end_words.hpp"
#include "context/task_name.hpp"
#include "report/asked_work.hpp"
#include "report/sums/first_known.hpp"
#include "show/character_width.hpp"
#include "show/figures.hpp"
#include "show/printable.hpp"
#include "show/process_names.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostNamePad = 24;

/// "Nov 29 12:03:04.120"
std::string local_time(std::uint64_t unix_ns) {
  constexpr std::uint64_t kLatest_s = 200'000'000'000;
  const auto seconds = static_cast<std::time_t>(std::min<std::uint64_t>(unix_ns / 1'000'000'000, kLatest_s));
  return fmt::format("{:%b %d %H:%M:%S}.{:03}", fmt::localtime(seconds), unix_ns / 1'000'000 % 1000);
}

/// "exit 3", "SIGKILL".
std::string end_text(const std::optional<std::int32_t>& code, const std::optional<std::int32_t>& signal) {
  if (signal) return signal_name(*signal);
  return code ? fmt::format("exit {}", *code) : "end not seen";
}

std::string end_text(const ProcessExit& exit) {
  if (exit.oom_killed.value_or(false)) return "SIGKILL, out of memory";
  std::string text = end_text(exit.exit_code, exit.exit_signal);
  if (exit.exit_signal_sender_pid && exit.exit_signal_sender_pid != exit.process->pid)
    text += fmt::format(" sent by pid {}", *exit.exit_signal_sender_pid);
  if (exit.status_is_answer && exit.exit_code.value_or(0) != 0) text += " (an answer, no failure)";
  return text;
}

/// ", 0.4 s CPU"; nothing where it is not known.
std::string part(const std::optional<Figure>& figure, std::string (*format)(std::uint64_t), std::string_view what) {
  return figure ? fmt::format(", {}{}", format_figure(figure, format), what) : std::string();
}

template <class Finish>
std::string finish_text(const Finish& finish) {
  const TaskTotals& totals = finish.totals;
  std::string text = fmt::format(
      "{}, took {}{}{}, {}", end_text(finish.exit_code, finish.exit_signal),
      format_duration(finish.end_ns - std::min(finish.begin_ns, finish.end_ns)),
      part(first_known(totals.account.cpu_ns, totals.account.cpu_at_least_ns, {}), format_duration, " CPU"),
      part(first_known(totals.peak_bytes, totals.peak_at_least_bytes, totals.peak_at_most_bytes), format_bytes, ""),
      format_count(totals.processes, "process", "processes"));
  if (totals.failed != 0) text += fmt::format(", {} failed", totals.failed);
  return text;
}

/// "task", "attempt 2 of align (S1)".
std::string attempt_text(const Context& context) {
  if (context.attempt.value_or(1) < 2) return "task";
  Context first = context;
  first.attempt.reset();
  return fmt::format("attempt {} of {}", *context.attempt, name_of_scope(first, false));
}

std::string line_name(const Context& context) {
  const std::string task = task_name(context);
  const std::string name = task.empty() ? name_of_scope(context, true) : task;
  return name == "?" ? "-" : name;
}

/// As from the process's folder.
std::string path_from_folder(const std::string& path, const Process& process) {
  const auto& folder = process.program->cwd;
  const bool is_below = folder && folder->size() > 1 && path.size() > folder->size() + 1 && path.starts_with(*folder) &&
                        path[folder->size()] == '/';
  return is_below ? path.substr(folder->size() + 1) : path;
}

std::string container_text(const std::optional<std::string>& name, const Cgroup& cgroup,
                           const std::optional<std::string>& runtime, const std::optional<std::string>& image) {
  constexpr std::size_t kIdShown = 12;
  std::string text = "container " + name.value_or(cgroup.container_id.value_or("?").substr(0, kIdShown));
  std::string of = runtime.value_or("");
  if (image) of += (of.empty() ? "" : ", ") + *image;
  return of.empty() ? text : fmt::format("{} ({})", text, of);
}

bool is_short(const ProcessExit& exit) {
  return exit.end_ns - std::min(exit.begin_ns, exit.end_ns) < LogText::kHeld_ns;
}

void keep_most(std::vector<std::pair<std::uint64_t, std::string>>& list, std::uint64_t& more, std::uint64_t bytes,
               std::string text, std::size_t most) {
  const auto fewer = [](const auto& one, const auto& other) { return one.first > other.first; };
  std::pair<std::uint64_t, std::string> file(bytes, std::move(text));
  list.insert(std::upper_bound(list.begin(), list.end(), file, fewer), std::move(file));
  if (list.size() <= most) return;
  list.pop_back();
  ++more;
}

}  // namespace

void LogText::add(const Event& event) {
  now_ns_ = std::max(now_ns_, event.time_ns());
  while (!held_.empty() && (held_.front().time_ns + kHeld_ns <= now_ns_ || held_.size() >= kMostHeld)) let_first_go();
  visit([this](const auto& body) { saw(body); }, event);
}

void LogText::settle() {
  while (!held_.empty()) let_first_go();
}

void LogText::let_first_go() {
  const Line& line = held_.front();
  write(line);
  if (const auto start = starts_.find(line.starts); start != starts_.end() && start->second == first_)
    starts_.erase(start);
  if (!line.alike.empty()) ends_.erase(line.alike);
  held_.pop_front();
  ++first_;
}

LogText::Line& LogText::hold(std::uint64_t time_ns, const Context& context, std::string what) {
  return held_.emplace_back(Line{time_ns, line_name(context), std::move(what)});
}

void LogText::drop_start(const ProcessId& process) {
  const auto start = starts_.find(process);
  if (start == starts_.end()) return;
  held(start->second).what.clear();
  starts_.erase(start);
}

void LogText::write(const Line& line) {
  if (line.what.empty()) return;
  const std::size_t most = columns_ ? kMostNamePad : std::string::npos;
  const std::string name = printable(in_one_line(line.name), most);
  name_width_ = std::max(name_width_, std::min(width_of(name), kMostNamePad));
  const std::size_t pad = name_width_ - std::min(name_width_, width_of(name));
  std::string what = line.what;
  if (line.count > 1)
    what = fmt::format("ended    {} x {}: {}{}", line.count, line.tool, line.end,
                       line.cpu_ns ? fmt::format(", {} CPU together", format_duration(*line.cpu_ns)) : "");
  const std::string text =
      fmt::format("{}  {}{:{}}  {}", local_time(line.time_ns + wall_offset_ns_), name, "", pad, printable(what));
  ready_ += columns_ ? printable(text, *columns_ - 1) : text;
  ready_ += '\n';
}

void LogText::saw(const RunStart& start) {
  hold(start.time_ns, *start.context, "started  run " + name_of_scope(*start.context, true));
}

void LogText::saw(const RunFinish& finish) {
  std::string text = fmt::format("ended    run {}: {}", name_of_scope(*finish.context, true), finish_text(finish));
  if (finish.tasks != 0) text += ", " + format_count(finish.tasks, "task", "tasks");
  if (finish.failed_tasks != 0) text += fmt::format(", {} of them failed", finish.failed_tasks);
  hold(finish.time_ns, *finish.context, std::move(text));
}

void LogText::saw(const TaskSubmit& submit) {
  if (!submit.context->task_key || submit.state == "started") return;
  const std::string task = attempt_text(*submit.context);
  const std::string outcome = submit.exit_code ? fmt::format("exit {}", *submit.exit_code)
                              : submit.outcome ? *submit.outcome
                                               : std::string("end not known");
  std::string text = submit.state == "submitted"           ? "queued   " + task
                     : submit.state == "started_elsewhere" ? fmt::format("started  {}, not here", task)
                     : submit.state == "ended_elsewhere"   ? fmt::format("ended    {}, not here: {}", task, outcome)
                     : submit.state == "withdrawn" ? fmt::format("ended    {}, by its engine's word: {}", task, outcome)
                                                   : fmt::format("{}  {}", submit.state, task);
  hold(submit.time_ns, *submit.context, std::move(text));
}

void LogText::saw(const TaskStart& start) {
  std::string text = "started  " + attempt_text(*start.context);
  if (start.submitted_ns && *start.submitted_ns < start.start_ns)
    text += fmt::format(", after {} in the queue", format_duration(start.start_ns - *start.submitted_ns));
  hold(start.time_ns, *start.context, std::move(text));
}

void LogText::saw(const TaskFinish& finish) {
  hold(finish.time_ns, *finish.context,
       fmt::format("ended    {}: {}", attempt_text(*finish.context), finish_text(finish)));
}

void LogText::saw(const ProcessExec& exec) {
  const Process& process = *exec.process;
  drop_start(id_of(process));
  if (process.context->engine_own) return;
  starts_[id_of(process)] = first_ + held_.size();
  hold(exec.time_ns, *process.context,
       fmt::format("started  {} (pid {})", in_one_line(joined_command(*process.program).value_or("?")), process.pid))
      .starts = id_of(process);
}

void LogText::saw(const FileUse& use) {
  const Process& process = *use.process;
  if (files_.of != id_of(process)) files_ = {.of = id_of(process)};
  if (!use.path) return;
  std::string name = path_from_folder(use.renamed_to.value_or(*use.path), process);
  const bool wrote = use.opened_to_write || use.written_bytes.value_or(0) != 0;
  const auto& bytes = wrote ? use.written_bytes : use.read_bytes;
  if (!wrote && use.opens == 0) return;
  if (bytes) name += " " + format_bytes(*bytes);
  if (use.deletes.value_or(0) != 0) name += " (deleted)";
  keep_most(wrote ? files_.written : files_.read, wrote ? files_.more_written : files_.more_read, bytes.value_or(0),
            std::move(name), kMostFilesNamed);
}

std::string LogText::files_text(const Process& process) const {
  if (files_.of != id_of(process)) return {};
  std::string text;
  const auto add = [&text](std::string_view what, const auto& list, std::uint64_t more) {
    for (std::size_t i = 0; i < list.size(); ++i) text += fmt::format(", {}{}", i == 0 ? what : "", list[i].second);
    if (more != 0) text += fmt::format(" and {} more", more);
  };
  add("read ", files_.read, files_.more_read);
  add("wrote ", files_.written, files_.more_written);
  return text;
}

void LogText::saw(const ProcessExit& exit) {
  const Process& process = *exit.process;
  const Account& account = exit.account;
  if (is_short(exit)) drop_start(id_of(process));
  if (process.context->engine_own && !exit.failed()) return;
  std::string alike;
  const std::string end = end_text(exit);
  const bool wrote = files_.of == id_of(process) && !files_.written.empty();
  if (exit.exit_code && !exit.failed() && is_short(exit) && !wrote) {
    const Key around = process.context->task_key.value_or(process.context->run_key.value_or(Key{}));
    alike = fmt::format("{} {} {}", to_string(around), end, exit.tool());
    const auto [known, fresh] = ends_.try_emplace(alike, first_ + held_.size());
    if (!fresh) {
      Line& line = held(known->second);
      ++line.count;
      line.cpu_ns = line.cpu_ns && account.cpu_ns ? std::optional(*line.cpu_ns + *account.cpu_ns) : std::nullopt;
      return;
    }
  }
  const auto memory =
      first_known(account.peak_rss_bytes, account.peak_rss_at_least_bytes, account.peak_rss_at_most_bytes);
  Line& line = hold(exit.time_ns, *process.context,
                    fmt::format("ended    {} (pid {}): {}, took {}{}{}{}", exit.tool(), process.pid, end,
                                format_duration(exit.end_ns - std::min(exit.begin_ns, exit.end_ns)),
                                part(first_known(account.cpu_ns, account.cpu_at_least_ns, {}), format_duration, " CPU"),
                                part(memory, format_bytes, ""), files_text(process)));
  line.alike = std::move(alike);
  line.tool = exit.tool();
  line.end = end;
  line.cpu_ns = account.cpu_ns;
}

void LogText::saw(const ContainerStart& start) {
  hold(start.time_ns, *start.process->context,
       "started  " + container_text(start.name, *start.process->cgroup, start.runtime, start.image));
}

void LogText::saw(const ContainerFinish& finish) {
  std::string text =
      fmt::format("ended    {}: {}", container_text(finish.name, *finish.process->cgroup, finish.runtime, finish.image),
                  format_count(finish.processes, "process", "processes"));
  if (finish.peak_bytes) text += fmt::format(", {}", format_bytes(*finish.peak_bytes));
  if (finish.oom_kills.value_or(0) != 0) text += fmt::format(", {} of them out of memory", *finish.oom_kills);
  hold(finish.time_ns, *finish.process->context, std::move(text));
}

void LogText::saw(const Finding& finding) {
  if (findings_.size() >= kMostFindings) findings_.clear();
  if (!findings_.insert(static_cast<std::uint64_t>(finding.finding_key)).second) return;
  hold(finding.time_ns, *finding.context, fmt::format("finding  {}: {}", finding.severity, in_one_line(finding.text)));
}

void LogText::saw(const Loss& loss) {
  hold(loss.time_ns, Context{},
       fmt::format("lost     {} ({})", format_count(loss.count, "event", "events"), loss.cause));
}

}  // namespace tracer::internal
