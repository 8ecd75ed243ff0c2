// SPDX-License-Identifier: Apache-2.0
#include <tracer/report.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/json_builder.hpp"
#include "report/json_parts.hpp"
#include "report/row_figures.hpp"
#include "report/touched.hpp"
#include "report/waste.hpp"
#include "report/waste_cost.hpp"

namespace tracer {
namespace {

using internal::JsonBuilder;

using internal::put_finding;
using internal::put_labels;
using internal::put_process;

void put_row(JsonBuilder& json, const ReportRow& row, const Context& labels, const CriticalPath* path = nullptr) {
  json.object([&] {
    json.put("name", row.name);
    put_labels(json, labels);
    if (row.process) put_process(json, *row.process);
    internal::each_row_figure([&](const auto& figure) { json.put(figure.name, internal::known(row, figure)); });
    internal::put_bound(json, row);
    internal::put_path(json, path);
    internal::put_requested(json, row.requested);
  });
}

void put_rows(JsonBuilder& json, std::string_view name, const std::vector<ReportRow>& rows) {
  json.list(name, rows, [&json](const ReportRow& row) { put_row(json, row, row.task); });
}

/// A row of the tree, with the labels of what it is.
struct LabeledRow {
  const ReportRow* row = nullptr;
  Context labels;
};

/// All of one level, each run's together.
void collect(const std::vector<ReportNode>& nodes, SummaryLevel level, const Context& above,
             std::vector<LabeledRow>& rows) {
  for (const ReportNode& node : nodes) {
    if (node.level >= SummaryLevel::kTool) continue;
    Context labels = node.row.task;
    if (node.level == SummaryLevel::kStep) {
      labels = above;
      labels.step = node.row.name;
    }
    if (node.level == level) rows.push_back({&node.row, labels});
    if (node.level < level) collect(node.below, level, labels, rows);
  }
}

const CriticalPath* path_of(const Report& report, const std::optional<Key>& run) {
  const auto path = std::find_if(report.critical_paths.begin(), report.critical_paths.end(),
                                 [&](const CriticalPath& each) { return each.run_key == run; });
  return path == report.critical_paths.end() ? nullptr : &*path;
}

void put_level(JsonBuilder& json, std::string_view name, const Report& report, SummaryLevel level) {
  std::vector<LabeledRow> rows;
  collect(report.tree, level, {}, rows);
  json.list(name, rows, [&](const LabeledRow& each) {
    put_row(json, *each.row, each.labels, level == SummaryLevel::kRun ? path_of(report, each.labels.run_key) : nullptr);
  });
}

void put_certificate(JsonBuilder& json, const Completeness& certificate) {
  json.object("certificate", [&] {
    json.put("tier", to_string(certificate.tier));
    json.put("complete", certificate.complete);
    json.put("exits_seen", certificate.exits_seen);
    json.put("ended", certificate.ended);
    json.object("losses", [&] {
      for (const auto& [cause, count] : certificate.losses) json.put(cause, count);
    });
    json.object("damage", [&] {
      json.put("skipped_bytes", certificate.damage.skipped_bytes);
      json.put("skipped_events", certificate.damage.skipped_events);
      json.put("missing_frames", certificate.damage.missing_frames);
      json.put("read_error", certificate.damage.read_error);
      json.put("truncated", certificate.damage.truncated);
    });
    json.put("rows_are_whole", certificate.rows_are_whole);
    json.put("total_is_whole", certificate.total_is_whole);
    json.put("missed_at_most", certificate.missed_at_most);
    json.list("missing", certificate.missing, [&](const FamilyState& state) {
      json.object([&] {
        json.put("family", to_string(state.family));
        json.put("active", state.active);
        if (!state.problem) return;
        json.put("code", to_string(state.problem->code));
        json.put("what", state.problem->what);
        json.put("fix", state.problem->fix);
      });
    });
  });
}

void put_cost(JsonBuilder& json, const ReportCost& cost) {
  json.object("cost", [&] {
    json.put("cpu_ns", cost.own.cpu_ns);
    json.put("snapshots_cpu_ns", cost.own.snapshots_cpu_ns);
    json.put("kernel_ns", cost.own.kernel_ns);
    json.put("memory_bytes", cost.own.memory_bytes);
    json.put("kernel_memory_bytes", cost.own.kernel_memory_bytes);
    json.put("cpu_share", cost.cpu_share);
  });
}

void put_waste(JsonBuilder& json, const internal::Waste& waste) {
  const auto& cpu = waste.cpu_hours;
  const auto& memory = waste.memory_gib_hours;
  if (cpu.tasks + memory.tasks == 0) return;
  json.object("waste", [&] {
    if (cpu.tasks != 0) {
      json.put("cpu_tasks", cpu.tasks);
      json.put("requested_cpu_hours", cpu.requested());
      json.put("unused_cpu_hours", cpu.unused());
    }
    if (memory.tasks == 0) return;
    json.put("memory_tasks", memory.tasks);
    json.put("requested_memory_gib_hours", memory.requested());
    json.put("unused_memory_gib_hours", memory.unused());
  });
}

void put_waste_cost(JsonBuilder& json, const internal::WasteCost& cost) {
  const auto put_known = [&json](std::string_view name, const std::string& text) {
    if (!text.empty()) json.put(name, text);
  };
  json.object("waste_cost", [&] {
    json.put(cost.at_least ? "amount_at_least" : "amount", cost.amount());
    json.put("currency", "USD");
    json.put("state", "estimate");
    json.put("basis", cost.price.basis);
    json.put("price_date", cost.price.date);
    put_known("instance_type", cost.price.instance_type);
    put_known("region", cost.price.region);
    put_known("model", cost.price.model);
    json.put("usd_per_hour", cost.price.usd_per_hour);
    json.put("usd_per_cpu_hour", cost.price.usd_per_cpu_hour);
    json.put("usd_per_gib_hour", cost.price.usd_per_gib_hour);
  });
}

void put_failure(JsonBuilder& json, const Failure& failure) {
  const auto tool_of = [](const Process& process) {
    return process.program->tool ? process.program->tool : process.program->comm;
  };
  json.object([&] {
    put_process(json, *failure.process);
    put_labels(json, *failure.process->context);
    json.put("exit_code", failure.exit_code);
    json.put("exit_signal", failure.exit_signal);
    json.put("core_dumped", failure.core_dumped);
    json.put("exit_signal_sender", failure.exit_signal_sender);
    json.put("oom_killed", failure.oom_killed);
    if (failure.sent_by) json.put("sent_by", tool_of(*failure.sent_by));
    json.put("count", failure.count);
    json.put("passed_on", failure.passed_on);
    json.put("ignored", failure.ignored);
    std::vector<std::string> tools;
    for (const auto& process : failure.passed_on_by) tools.push_back(tool_of(*process).value_or("?"));
    if (!tools.empty()) json.texts("passed_on_by", tools);
    if (failure.ignored_by) json.put("ignored_by", tool_of(*failure.ignored_by));
  });
}

void put_survivor(JsonBuilder& json, const Survivor& survivor) {
  const ProcessSample& sample = survivor.sample;
  json.object([&] {
    put_process(json, *sample.process);
    put_labels(json, *sample.process->context);
    json.put("begin_ns", survivor.begin_ns);
    json.put("time_ns", sample.time_ns);
    json.put("cpu_ns", sample.account.cpu_ns);
    json.put("read_bytes", bytes_read(sample.account));
    json.put("written_bytes", bytes_written(sample.account));
  });
}

void put_pipe(JsonBuilder& json, const Pipeline& pipe) {
  json.object([&] {
    json.texts("stages", pipe.stages);
    if (!pipe.bottleneck.empty()) {
      json.put("bottleneck", pipe.bottleneck);
      json.put("bottleneck_share", pipe.bottleneck_share);
      json.put("others_share", pipe.others_share);
    }
    json.put("waited_ns", pipe.waited_ns);
  });
}

void put_cgroup(JsonBuilder& json, const CgroupMemory& memory) {
  const CgroupSample& at = memory.highest;
  json.object([&] {
    json.put("path", at.cgroup->path);
    json.put("peak_bytes", memory.peak_bytes);
    json.put("followed_wholly", memory.followed_wholly);
    json.put("highest_ns", at.time_ns);
    json.put("memory_bytes", at.memory_bytes);
    json.put("held_bytes", at.held_bytes);
    json.put("file_bytes", at.file_bytes);
    json.put("shmem_bytes", at.shmem_bytes);
    json.put("kernel_bytes", at.kernel_bytes);
    json.put("unexplained_bytes", at.unexplained_bytes);
  });
}

void put_file(JsonBuilder& json, const BusyFile& file) {
  json.object([&] {
    json.put("path", file.path);
    if (!file.read_by.empty()) json.put("read_by", file.read_by);
    if (!file.written_by.empty()) json.put("written_by", file.written_by);
    json.put("opens", file.opens);
    json.put("read_bytes", std::optional(internal::bytes_of(file, &BusyFile::read_bytes)));
    json.put("written_bytes", std::optional(internal::bytes_of(file, &BusyFile::written_bytes)));
  });
}

void put_file_system(JsonBuilder& json, const BusyFileSystem& system) {
  json.object([&] {
    const bool exact = system.unknown_uses == 0;
    json.put("filesystem", system.filesystem);
    json.put(exact ? "read_bytes" : "read_bytes_at_least", system.read_bytes);
    json.put(exact ? "written_bytes" : "written_bytes_at_least", system.written_bytes);
  });
}

void put_peer(JsonBuilder& json, const BusyPeer& peer) {
  json.object([&] {
    json.put("tool", peer.tool);
    json.put("protocol", peer.protocol);
    json.put("role", peer.role);
    json.put("address", peer.address);
    json.put("port", peer.port);
    json.put("sent_bytes", peer.sent_bytes);
    json.put("received_bytes", peer.received_bytes);
    json.put("failed_connects", peer.failed_connects);
    json.put("error", peer.error);
  });
}

void put_device(JsonBuilder& json, const BusyDevice& device) {
  json.object([&] {
    json.put("name", device.name);
    json.put("read_bytes", device.read_bytes);
    json.put("written_bytes", device.written_bytes);
    json.put("span_ns", device.span_ns);
    json.put("busy_ns", device.busy_ns);
    if (device.tool.empty()) return;
    json.put("tool", device.tool);
    json.put("task", device.task);
    json.put("tool_bytes", device.tool_bytes);
  });
}

void put_gpu(JsonBuilder& json, const BusyGpu& gpu) {
  json.object([&] {
    json.put("gpu", gpu.gpu);
    json.put("name", gpu.name);
    json.put("span_ns", gpu.span_ns);
    json.put("busy_ns", gpu.busy_ns);
    json.put("used_ns", gpu.used_ns);
    json.put("memory_peak_bytes", gpu.memory_peak_bytes);
    json.put("capacity_bytes", gpu.capacity_bytes);
    if (gpu.tool.empty()) return;
    json.put("tool", gpu.tool);
    json.put("task", gpu.task);
    json.put("tool_peak_bytes", gpu.tool_peak_bytes);
  });
}

}  // namespace

std::string to_json(const Report& report) {
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("schema", 1);
    put_certificate(json, report.completeness);
    json.list("findings", report.findings, [&](const Finding& each) { put_finding(json, each); });
    json.put("totals", [&] { put_row(json, report.total, {}); });
    put_level(json, "runs", report, SummaryLevel::kRun);
    put_level(json, "steps", report, SummaryLevel::kStep);
    put_level(json, "tasks", report, SummaryLevel::kTask);
    put_rows(json, "samples", report.samples);
    put_rows(json, "tools", report.tools);
    put_rows(json, "processes", report.processes);
    json.list("failures", report.failures, [&](const Failure& each) { put_failure(json, each); });
    json.put("failures_seen", report.failures_seen);
    json.put("answers", report.answers);
    json.object("excused", [&] {
      json.put("reader_had_enough", report.excused.reader_had_enough);
      json.put("ended_by_starter", report.excused.ended_by_starter);
    });
    json.list("survivors", report.survivors, [&](const Survivor& each) { put_survivor(json, each); });
    json.list("pipes", report.pipelines, [&](const Pipeline& each) { put_pipe(json, each); });
    json.list("cgroups", report.cgroups, [&](const CgroupMemory& each) { put_cgroup(json, each); });
    json.list("files", report.files, [&](const BusyFile& each) { put_file(json, each); });
    json.list("file_systems", report.file_systems, [&](const BusyFileSystem& each) { put_file_system(json, each); });
    json.list("peers", report.peers, [&](const BusyPeer& each) { put_peer(json, each); });
    json.list("devices", report.devices, [&](const BusyDevice& each) { put_device(json, each); });
    json.list("gpus", report.gpus, [&](const BusyGpu& each) { put_gpu(json, each); });
    if (!report.instance_types.empty()) json.texts("instance_types", report.instance_types);
    put_waste(json, internal::waste_of(report));
    if (const auto cost = internal::waste_cost_of(report)) put_waste_cost(json, *cost);
    put_cost(json, report.cost);
  });
  return out;
}

}  // namespace tracer
