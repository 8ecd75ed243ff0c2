// SPDX-License-Identifier: Apache-2.0
#include "commands/prometheus_text.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tracerd {
namespace {

using Json = nlohmann::json;

enum class Unit { kNone, kNanoseconds };

/// One that has a row's or the status's figure of this key, or nothing where that is absent. A name that ends with
/// "_total" is that of a counter.
struct Metric {
  const char* key;
  std::string_view name;
  const char* help;
  Unit unit = Unit::kNone;
};

constexpr Metric kOfTools[] = {
    {"cpu_ns", "tracer_tool_cpu_seconds_total", "CPU time of processes, by tool.", Unit::kNanoseconds},
    {"processes", "tracer_tool_processes_total", "Processes that ended, by tool."},
    {"failed", "tracer_tool_failures_total", "Failures, by the tool in which they began."},
    {"oom_kills", "tracer_tool_oom_kills_total", "Processes that the kernel killed as memory had run out, by tool."},
    {"read_bytes", "tracer_tool_read_bytes_total", "Bytes that read calls returned, by tool."},
    {"written_bytes", "tracer_tool_written_bytes_total", "Bytes that write calls took, by tool."},
};
constexpr Metric kOfSteps[] = {
    {"cpu_ns", "tracer_step_cpu_seconds_total", "CPU time of processes in runs and tasks, by step.",
     Unit::kNanoseconds},
    {"tasks", "tracer_step_tasks_total", "Tasks that ended, by step."},
    {"failed", "tracer_step_failed_tasks_total", "Tasks that ended and failed, by step."},
    {"wall_ns", "tracer_step_task_seconds_total", "Time that tasks took from their begin to their end, by step.",
     Unit::kNanoseconds},
    {"running", "tracer_step_running_tasks", "Tasks that run, by step."},
    {"queued", "tracer_step_queued_tasks", "Tasks that were submitted and have not begun, by step."},
};
constexpr Metric kOfHost[] = {
    {"/uptime_s", "tracer_service_uptime_seconds", "Since when the service runs."},
    {"/events", "tracer_service_events_total", "Events that the service has seen."},
    {"/cost/cpu_ns", "tracer_service_cpu_seconds_total", "CPU time of the service itself.", Unit::kNanoseconds},
    {"/cost/kernel_ns", "tracer_service_kernel_seconds_total", "CPU time of its programs in the kernel.",
     Unit::kNanoseconds},
    {"/cost/memory_bytes", "tracer_service_memory_bytes", "Memory of the service."},
    {"/cost/kernel_memory_bytes", "tracer_service_kernel_memory_bytes", "Memory that it holds in the kernel."},
    {"/connections", "tracer_service_connections", "Clients that are connected."},
    {"/more/recordings/used_bytes", "tracer_recordings_bytes", "Recordings on the disk."},
    {"/more/recordings/outbox/bytes", "tracer_outbox_bytes", "Sealed parts that wait to be shipped."},
    {"/more/recordings/outbox/oldest_s", "tracer_outbox_oldest_seconds", "How long the oldest of them has waited."},
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char each : text) {
    if (each == '\\' || each == '"') out += '\\';
    if (each == '\n') {
      out += "\\n";
    } else {
      out += each;
    }
  }
  return out;
}

std::string figure_text(std::uint64_t value, Unit unit) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return unit == Unit::kNone ? fmt::format("{}", value) : fmt::format("{}.{:09}", value / kSecond, value % kSecond);
}

class Text {
 public:
  explicit Text(std::string host) : host_(std::move(host)) {}

  /// A label without a value is as good as none.
  void add(const Metric& metric, std::uint64_t value,
           std::initializer_list<std::pair<const char*, std::string>> labels) {
    if (metric.name != last_)
      text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help,
                           metric.name.ends_with("_total") ? "counter" : "gauge");
    last_ = metric.name;
    text_ += fmt::format("{}{{host=\"{}\"", metric.name, escaped(host_));
    for (const auto& [name, label] : labels)
      if (!label.empty()) text_ += fmt::format(",{}=\"{}\"", name, escaped(label));
    text_ += fmt::format("}} {}\n", figure_text(value, metric.unit));
  }
  void add_rows(std::span<const Metric> metrics, const Json& rows, const char* name) {
    for (const Metric& metric : metrics)
      for (const Json& row : rows)
        if (row.contains(metric.key))
          add(metric, row.at(metric.key).get<std::uint64_t>(),
              {{"pipeline", row.at("pipeline")}, {name, row.at(name)}, {"user_class", row.at("user_class")}});
  }
  std::string take() { return std::move(text_); }

 private:
  const std::string host_;
  std::string text_;
  std::string_view last_;
};

}  // namespace

std::string prometheus_text(const Json& status, const Json& usage) {
  Text text(usage.at("host"));
  text.add_rows(kOfTools, usage.at("tools"), "tool");
  text.add_rows(kOfSteps, usage.at("steps"), "step");
  for (const auto& [user_class, count] : usage.at("processes").get_ref<const Json::object_t&>())
    text.add({"", "tracer_processes", "Processes that live."}, count.get<std::uint64_t>(),
             {{"user_class", user_class}});
  for (const auto& [cause, count] : status.at("losses").get_ref<const Json::object_t&>())
    text.add({"", "tracer_lost_total", "What could not be seen or kept, by its cause: docs/losses.md."},
             count.get<std::uint64_t>(), {{"cause", cause}});
  for (const Metric& metric : kOfHost)
    if (const Json::json_pointer key(metric.key); status.contains(key))
      text.add(metric, status.at(key).get<std::uint64_t>(), {});
  return text.take();
}

}  // namespace tracerd
