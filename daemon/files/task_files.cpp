// SPDX-License-Identifier: Apache-2.0
#include "files/task_files.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <tracer/report.hpp>

#include "context/task_name.hpp"

namespace tracerd {
namespace {

using tracer::TaskFinish;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostNameBytes = 120;
constexpr std::size_t kHashBytes = 9;  ///< "ab/0123ef": what Nextflow shows of a hash.

std::uint64_t realtime_ns(const EndedTask& task) { return task.end_ns - std::min(task.end_ns, task.begin_ns); }

/// Tabs and line ends separate columns and rows.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

std::string name_of(const TaskFinish& task) {
  tracer::Context context = *task.context;
  // Neither engine puts it into the name.
  context.attempt.reset();
  const std::string name = tracer::internal::task_name(context);
  return name.empty() ? fmt::format("pid {}", task.pid) : one_line(name);
}

/// "1.2s", "3m 4s", "2h 1m 5s"
std::string nextflow_duration(std::uint64_t ns) {
  const std::uint64_t ms = ns / kMillisecond;
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) {
    const std::string seconds = fmt::format("{:.1f}", static_cast<double>(ms) / 1000);
    return (seconds.ends_with(".0") ? seconds.substr(0, seconds.size() - 2) : seconds) + "s";
  }
  const std::uint64_t all = ms / 1000;
  std::string text;
  const auto part = [&](std::uint64_t value, char unit) {
    if (value != 0) text += fmt::format("{}{}{}", text.empty() ? "" : " ", value, unit);
  };
  part(all / 86400, 'd');
  part(all / 3600 % 24, 'h');
  part(all / 60 % 60, 'm');
  part(all % 60, 's');
  return text;
}

/// "11.8 MB": of 1,024 each.
std::string nextflow_bytes(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return "-";
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(*bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  if (*bytes == 0) return "0";
  const std::string number = fmt::format("{:.1f}", value);
  return (number.ends_with(".0") ? number.substr(0, number.size() - 2) : number) + " " + kUnits[unit];
}

std::string nextflow_cpu(const EndedTask& task) {
  const std::uint64_t ns = realtime_ns(task);
  if (!task.cpu_ns || ns == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(*task.cpu_ns) / static_cast<double>(ns));
}

std::string status_of(const EndedTask& task) {
  if (!task.failed) return "-";
  return *task.failed ? "FAILED" : "COMPLETED";
}

/// As shells tell it.
std::string exit_of(const EndedTask& task) {
  if (task.exit_signal) return std::to_string(128 + *task.exit_signal);
  return task.exit_code ? std::to_string(*task.exit_code) : "-";
}

/// "1:02:03", "2 days, 1:02:03"
std::string snakemake_time(std::uint64_t seconds) {
  const std::uint64_t days = seconds / 86400;
  const std::string time = fmt::format("{}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return days == 0 ? time : fmt::format("{} day{}, {}", days, days == 1 ? "" : "s", time);
}

std::string megabytes(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.2f}", static_cast<double>(*bytes) / (1024 * 1024)) : "NA";
}

std::string benchmark_of(const EndedTask& task) {
  const std::uint64_t ns = realtime_ns(task);
  const double seconds = static_cast<double>(ns) / kSecond;
  const auto cpu = task.cpu_ns ? std::optional(static_cast<double>(*task.cpu_ns) / kSecond) : std::nullopt;
  return fmt::format(
      "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\tmax_rss_at_most\n"
      "{:.4f}\t{}\t{}\tNA\tNA\t{}\t{}\t{}\t{}\t{}\t{}\n",
      seconds, snakemake_time(ns / kSecond), megabytes(task.peak_bytes), megabytes(task.peak_bytes),
      megabytes(task.read_bytes), megabytes(task.written_bytes),
      cpu && ns != 0 ? fmt::format("{:.2f}", 100 * *cpu / seconds) : "NA", cpu ? fmt::format("{:.2f}", *cpu) : "NA",
      megabytes(task.peak_at_most_bytes));
}

/// Letters, digits, '-', '_' and '.' stay; a name never begins with '.', and never holds "--".
std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name.substr(0, kMostNameBytes)) {
    if (c == '-' && safe.ends_with('-')) continue;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || (c == '.' && !safe.empty());
    if (plain || (!safe.empty() && safe.back() != '_')) safe += plain ? c : '_';
  }
  while (!safe.empty() && safe.back() == '_') safe.pop_back();
  return safe.empty() ? "task" : safe;
}

}  // namespace

void TaskFiles::add(const tracer::Event& event) {
  const auto* task = event.get_if<TaskFinish>();
  if (task == nullptr) return;
  const tracer::Context& context = *task->context;
  const std::string name = name_of(*task);
  const std::string key = fmt::format("{}\n{}\n{}\n{}", context.run_id.value_or(context.run.value_or("")),
                                      context.task_id.value_or(name), context.attempt.value_or(0), task->start_ns);
  if (tasks_.size() >= kMostTasks && !tasks_.contains(key)) {
    ++left_out_;
    return;
  }
  const tracer::TaskTotals& totals = task->totals;
  const tracer::Account& account = totals.account;
  // These columns have no room for a bound.
  const auto value_of = [](const std::optional<tracer::Figure>& figure) {
    return figure && figure->bound == tracer::Bound::kExact ? std::optional(figure->value) : std::nullopt;
  };
  const bool has_hash = context.task_id && !tracer::internal::has_made_up_id(context);
  tasks_.insert_or_assign(
      key, EndedTask{name, has_hash ? one_line(context.task_id->substr(0, kHashBytes)) : "", task->pid, task->begin_ns,
                     task->end_ns, task->failed(), task->exit_code, task->exit_signal, account.cpu_ns,
                     totals.peak_bytes, totals.peak_at_most_bytes, value_of(tracer::bytes_read(account)),
                     value_of(tracer::bytes_written(account))});
}

std::vector<const EndedTask*> TaskFiles::in_order() const {
  std::vector<const EndedTask*> all;
  for (const auto& [key, task] : tasks_) all.push_back(&task);
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->begin_ns < b->begin_ns; });
  return all;
}

std::string TaskFiles::trace(std::uint64_t wall_offset_ns) const {
  std::string text =
      "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tstart\tduration\trealtime\t%cpu\tpeak_rss\tpeak_vmem\t"
      "rchar\twchar\tpeak_rss_at_most\n";
  std::size_t number = 0;
  for (const EndedTask* task : in_order()) {
    const std::uint64_t start_ms = (task->begin_ns + wall_offset_ns) / kMillisecond;
    const auto start = static_cast<std::time_t>(start_ms / 1000);
    std::tm local{};
    ::localtime_r(&start, &local);
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t-\t{:%Y-%m-%d %H:%M:%S}.{:03}\t-\t{}\t{}\t{}\t-\t{}\t{}\t{}\n",
                        ++number, task->hash.empty() ? "-" : task->hash, task->pid, task->name, status_of(*task),
                        exit_of(*task), local, start_ms % 1000, nextflow_duration(realtime_ns(*task)),
                        nextflow_cpu(*task), nextflow_bytes(task->peak_bytes), nextflow_bytes(task->read_bytes),
                        nextflow_bytes(task->written_bytes), nextflow_bytes(task->peak_at_most_bytes));
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> TaskFiles::benchmarks() const {
  std::vector<std::pair<std::string, std::string>> files;
  std::map<std::string, std::size_t> used;
  for (const EndedTask* task : in_order()) {
    const std::string name = file_name(task->name);
    const std::size_t number = ++used[name];
    files.emplace_back(number == 1 ? name + ".tsv" : fmt::format("{}--{}.tsv", name, number), benchmark_of(*task));
  }
  return files;
}

}  // namespace tracerd
