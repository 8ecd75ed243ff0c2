// SPDX-License-Identifier: Apache-2.0
#include "report/json/document.hpp"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "report/json/over_time_json.hpp"
#include "report/json_builder.hpp"

namespace tracer::internal {
namespace {

void put_host(JsonBuilder& json, const HostInfo& host) {
  json.object([&] {
    json.put("name", host.host_name);
    json.put("kernel", fmt::format("{} {}", host.kernel_release, host.architecture));
    json.put("cpus", host.cpu_count);
    json.put("memory_bytes", host.memory_bytes);
    json.put("version", host.tracer_version);
    // As a text: scripts read numbers beyond 2^53 without their last digits.
    json.put("wall_offset_ns", fmt::format("{}", host.wall_offset_ns));
  });
}

void put_listed(JsonBuilder& json, const ListedProcess& process) {
  json.object([&] {
    json.put("name", process.tool);
    json.put("tool", process.tool);
    if (!process.argv.empty()) json.texts("argv", process.argv);
    json.put("pid", process.pid);
    json.put("parent_pid", process.parent_pid);
    json.put("start_ns", process.start_ns);
    json.put("begin_ns", process.begin_ns);
    json.put(process.living ? "last_ns" : "end_ns", process.end_ns);
    if (process.end_ns >= process.begin_ns) json.put("wall_ns", process.end_ns - process.begin_ns);
    json.put("cpu_ns", process.cpu_ns);
    json.put("memory_bytes", process.memory_bytes);
    json.put("exit_code", process.exit_code);
    json.put("exit_signal", process.exit_signal);
  });
}

void put_container(JsonBuilder& json, const ListedContainer& container) {
  json.object([&] {
    json.put("container_id", container.id);
    json.put("name", container.name);
    json.put("image", container.image);
    json.put("runtime", container.runtime);
    json.put("run_key", container.run_key);
    json.put("task_key", container.task_key);
    if (!container.task.empty()) json.put("task", container.task);
    json.put("begin_ns", container.begin_ns);
    json.put("end_ns", container.end_ns);
    json.put("gone_ns", container.gone_ns);
    if (container.end_ns && *container.end_ns >= container.begin_ns)
      json.put("wall_ns", *container.end_ns - container.begin_ns);
    json.put("processes", container.processes);
    json.put("oom_kills", container.oom_kills);
    json.put("peak_bytes", container.peak_bytes);
  });
}

}  // namespace

std::string held_of(const DetailedReport& detailed) {
  std::map<std::optional<Key>, std::vector<const ListedProcess*>> by_key;
  for (const ListedProcess& each : detailed.processes) by_key[each.in].push_back(&each);
  std::string text;
  JsonBuilder json(text);
  json.object([&] {
    for (const auto& [key, all] : by_key)
      json.object(key ? to_string(*key) : "",
                  [&] { json.list("processes", all, [&](const ListedProcess* each) { put_listed(json, *each); }); });
  });
  return text;
}

std::string document_of(const DetailedReport& detailed, const std::string& title, bool is_whole) {
  std::string more;
  JsonBuilder json(more);
  json.object([&] {
    json.put("title", title);
    json.list("hosts", detailed.hosts, [&](const HostInfo& host) { put_host(json, host); });
    if (!detailed.containers.empty())
      json.list("containers", detailed.containers, [&](const ListedContainer& each) { put_container(json, each); });
    if (!is_whole) return;
    if (!detailed.over_time.rows.empty())
      json.put_text("over_time",
                    to_json(detailed.over_time, detailed.hosts.empty() ? HostInfo{} : detailed.hosts.front()));
    json.put_text("held", held_of(detailed));
  });
  std::string document = to_json(detailed.report);
  document.back() = ',';
  return document.append(more, 1);
}

}  // namespace tracer::internal
