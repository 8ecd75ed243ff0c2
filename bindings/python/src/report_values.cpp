// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <utility>

#include "events.hpp"
#include "report.hpp"
#include "show/report_text.hpp"
#include "report/row_figures.hpp"
#include "report/summary_level.hpp"
#include "report/time_shares.hpp"
#include "report/touched.hpp"
#include "report/waste.hpp"
#include "report/waste_cost.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

template <class T>
py::object maybe(const std::optional<T>& value) {
  return value ? py::cast(*value) : py::object(py::none());
}

py::object text_or_none(std::string_view text) {
  return text.empty() ? py::object(py::none()) : py::object(text_of(text));
}

py::object maybe_text(const std::optional<std::string>& value) {
  return value ? py::object(text_of(*value)) : py::object(py::none());
}

const char* name_of(Bound bound) {
  switch (bound) {
    case Bound::kAtLeast: return "at least";
    case Bound::kAtMost: return "at most";
    case Bound::kExact: break;
  }
  return "exact";
}

/// "memory_at_most_bytes"
std::string at_most_name(std::string name) {
  const std::size_t unit = name.rfind('_');
  return name.insert(unit, "_at_most");
}

py::tuple value_of(const Figure& figure) { return py::make_tuple(figure.value, name_of(figure.bound)); }

py::object maybe_figure(const std::optional<Figure>& figure) {
  return figure ? py::object(value_of(*figure)) : py::object(py::none());
}

py::list list_of(const std::vector<TimeShare>& time) {
  py::list shares;
  for (const TimeShare& each : time)
    shares.append(py::make_tuple(text_of(to_string(each.cause)), each.time_ns, each.share));
  return shares;
}

py::object value_of(const Requested& requested) {
  if (requested == Requested{}) return py::none();
  return py::make_tuple(maybe(requested.millicpus), maybe(requested.memory_bytes), maybe(requested.time_ns),
                        maybe_text(requested.container), maybe_text(requested.tag));
}

py::object argv_of(const Program& program) {
  if (!program.argv) return py::none();
  py::list words;
  for (const std::string& word : *program.argv) words.append(text_of(word));
  return words;
}

py::object value_of(const std::optional<double>& value) { return maybe(value); }
py::object value_of(const std::optional<Figure>& figure) { return maybe_figure(figure); }
py::object value_of(std::uint64_t value) { return py::int_(value); }

py::list list_of(const std::vector<CriticalPath>& paths) {
  py::list list;
  for (const CriticalPath& path : paths) {
    py::list tasks;
    for (const PathTask& task : path.tasks)
      tasks.append(
          py::make_tuple(to_string(task.task_key), text_of(task.name), task.begin_ns, task.end_ns, task.finished));
    py::dict fields;
    fields["run_key"] = to_string(path.run_key);
    fields["basis"] = path.by_files ? "files" : "longest task";
    fields["length_at_least_ns"] = path.at_least_ns;
    fields["length_at_most_ns"] = path.at_most_ns;
    fields["without_task_ns"] = maybe(path.without_task_ns);
    fields["tasks"] = tasks;
    list.append(fields);
  }
  return list;
}

py::dict value_of(const ReportRow& row, ObjectMaker& maker) {
  py::dict fields;
  fields["name"] = text_of(row.name);
  fields["context"] = maker.context(row.task);
  fields["pid"] = row.process ? py::object(py::int_(row.process->pid)) : py::object(py::none());
  fields["argv"] = row.process ? argv_of(*row.process->program) : py::object(py::none());
  internal::each_row_figure([&](const auto& figure) {
    if (figure.zero_is_unknown && !internal::known(row, figure).any()) {
      fields[figure.name] = py::none();
    } else {
      fields[figure.name] = value_of(row.*figure.member);
    }
    if (figure.at_most != nullptr) fields[(at_most_name(figure.name)).c_str()] = maybe(row.*figure.at_most);
  });
  fields["time"] = list_of(row.time);
  fields["task_ledger"] = row.task_ledger ? maker.task_ledger(*row.task_ledger) : py::object(py::none());
  py::list awaited;
  for (const AwaitedTask& each : row.waits_for) awaited.append(maker.awaited_task(each));
  fields["waits_for"] = awaited;
  fields["bound_by"] = text_or_none(row.bound_by);
  fields["bound_share"] = maybe(row.bound_share);
  fields["requested"] = value_of(row.requested);
  return fields;
}

py::list list_of(const std::vector<ReportRow>& rows, ObjectMaker& maker) {
  py::list list;
  for (const ReportRow& row : rows) list.append(value_of(row, maker));
  return list;
}

/// (level, row, nodes below)
py::list list_of(const std::vector<ReportNode>& nodes, ObjectMaker& maker) {
  py::list list;
  for (const ReportNode& node : nodes)
    list.append(py::make_tuple(internal::to_string(node.level), value_of(node.row, maker), list_of(node.below, maker)));
  return list;
}

const std::optional<std::string>& tool_of(const Process& process) {
  return process.program->tool ? process.program->tool : process.program->comm;
}

py::object tool_or_none(const std::shared_ptr<const Process>& process) {
  return process ? maybe_text(tool_of(*process)) : py::object(py::none());
}

void put_program(py::dict& fields, const Process& process) {
  const Program& program = *process.program;
  fields["pid"] = process.pid;
  fields["start_ns"] = process.start_ns;
  fields["tool"] = maybe_text(tool_of(process));
  fields["exe"] = maybe_text(program.exe);
  fields["argv"] = argv_of(program);
}

py::dict value_of(const Failure& failure, ObjectMaker& maker) {
  py::dict fields;
  put_program(fields, *failure.process);
  fields["context"] = maker.context(*failure.process->context);
  fields["exit_code"] = maybe(failure.exit_code);
  fields["exit_signal"] = maybe(failure.exit_signal);
  fields["core_dumped"] = failure.core_dumped;
  fields["exit_signal_sender"] = maybe_text(failure.exit_signal_sender);
  fields["oom_killed"] = maybe(failure.oom_killed);
  fields["sent_by"] = tool_or_none(failure.sent_by);
  fields["count"] = failure.count;
  fields["status"] = text_of(tracer::internal::format_status(failure));
  fields["passed_on"] = failure.passed_on;
  fields["ignored"] = failure.ignored;
  py::list tools;
  for (const auto& process : failure.passed_on_by) tools.append(text_of(tool_of(*process).value_or("?")));
  fields["passed_on_by"] = tools;
  fields["ignored_by"] = tool_or_none(failure.ignored_by);
  fields["outcome"] = text_of(tracer::internal::format_outcome(failure));
  return fields;
}

py::dict value_of(const Survivor& survivor, ObjectMaker& maker) {
  const ProcessSample& sample = survivor.sample;
  py::dict fields;
  put_program(fields, *sample.process);
  fields["context"] = maker.context(*sample.process->context);
  fields["begin_ns"] = survivor.begin_ns;
  fields["time_ns"] = sample.time_ns;
  fields["cpu_ns"] = maybe(sample.account.cpu_ns);
  fields["read_bytes"] = maybe_figure(bytes_read(sample.account));
  fields["written_bytes"] = maybe_figure(bytes_written(sample.account));
  return fields;
}

py::object value_of(const Finding& finding, ObjectMaker& maker) { return maker.event(Event(finding)); }

py::dict value_of(const BusyFile& file) {
  py::dict fields;
  fields["path"] = text_of(file.path);
  fields["read_by"] = text_or_none(file.read_by);
  fields["written_by"] = text_or_none(file.written_by);
  fields["opens"] = file.opens;
  fields["read_bytes"] = value_of(internal::bytes_of(file, &BusyFile::read_bytes));
  fields["written_bytes"] = value_of(internal::bytes_of(file, &BusyFile::written_bytes));
  return fields;
}

py::dict value_of(const BusyFileSystem& system) {
  py::dict fields;
  fields["filesystem"] = text_of(system.filesystem);
  fields["read_bytes"] = system.read_bytes;
  fields["written_bytes"] = system.written_bytes;
  fields["unknown_uses"] = system.unknown_uses;
  return fields;
}

py::dict value_of(const BusyPeer& peer) {
  py::dict fields;
  fields["tool"] = text_of(peer.tool);
  fields["protocol"] = text_of(peer.protocol);
  fields["role"] = maybe_text(peer.role);
  fields["address"] = maybe_text(peer.address);
  fields["port"] = maybe(peer.port);
  fields["sent_bytes"] = peer.sent_bytes;
  fields["received_bytes"] = peer.received_bytes;
  fields["failed_connects"] = peer.failed_connects;
  fields["error"] = maybe(peer.error);
  return fields;
}

py::dict value_of(const BusyDevice& device) {
  py::dict fields;
  fields["name"] = text_of(device.name);
  fields["read_bytes"] = device.read_bytes;
  fields["written_bytes"] = device.written_bytes;
  fields["span_ns"] = device.span_ns;
  fields["busy_ns"] = maybe(device.busy_ns);
  fields["tool"] = text_or_none(device.tool);
  fields["task"] = maybe_text(device.task);
  fields["tool_bytes"] = device.tool_bytes;
  return fields;
}

py::dict value_of(const BusyGpu& gpu) {
  py::dict fields;
  fields["gpu"] = text_of(gpu.gpu);
  fields["name"] = maybe_text(gpu.name);
  fields["span_ns"] = gpu.span_ns;
  fields["busy_ns"] = maybe(gpu.busy_ns);
  fields["used_ns"] = maybe(gpu.used_ns);
  fields["memory_peak_bytes"] = maybe(gpu.memory_peak_bytes);
  fields["capacity_bytes"] = maybe(gpu.capacity_bytes);
  fields["tool"] = text_or_none(gpu.tool);
  fields["task"] = maybe_text(gpu.task);
  fields["tool_peak_bytes"] = maybe(gpu.tool_peak_bytes);
  return fields;
}

py::dict value_of(const Pipeline& pipeline) {
  py::list stages;
  for (const std::string& stage : pipeline.stages) stages.append(text_of(stage));
  py::dict fields;
  fields["stages"] = stages;
  fields["bottleneck"] = text_or_none(pipeline.bottleneck);
  fields["bottleneck_share"] = pipeline.bottleneck_share;
  fields["others_share"] = pipeline.others_share;
  fields["waited_ns"] = pipeline.waited_ns;
  return fields;
}

py::dict value_of(const CgroupMemory& memory) {
  const CgroupSample& highest = memory.highest;
  py::dict fields;
  fields["path"] = maybe_text(highest.cgroup->path);
  fields["peak_bytes"] = memory.peak_bytes;
  fields["followed_wholly"] = memory.followed_wholly;
  fields["highest_ns"] = highest.time_ns;
  fields["memory_bytes"] = maybe(highest.memory_bytes);
  fields["held_bytes"] = maybe(highest.held_bytes);
  fields["file_bytes"] = maybe(highest.file_bytes);
  fields["shmem_bytes"] = maybe(highest.shmem_bytes);
  fields["kernel_bytes"] = maybe(highest.kernel_bytes);
  fields["unexplained_bytes"] = maybe(highest.unexplained_bytes);
  return fields;
}

py::dict value_of(const FamilyState& state) {
  py::dict fields;
  fields["family"] = text_of(to_string(state.family));
  fields["active"] = state.active;
  fields["code"] = state.problem ? py::object(text_of(to_string(state.problem->code))) : py::object(py::none());
  fields["what"] = text_of(state.problem ? state.problem->what : std::string());
  fields["fix"] = text_of(state.problem ? state.problem->fix : std::string());
  return fields;
}

py::dict value_of(const Completeness& certificate) {
  const RecordingDamage& damage = certificate.damage;
  py::dict losses;
  for (const auto& [cause, count] : certificate.losses) losses[text_of(cause)] = count;
  py::list missing;
  for (const FamilyState& state : certificate.missing) missing.append(value_of(state));
  py::dict lost;
  lost["skipped_bytes"] = damage.skipped_bytes;
  lost["skipped_events"] = damage.skipped_events;
  lost["missing_frames"] = damage.missing_frames;
  lost["read_error"] = damage.read_error;
  lost["truncated"] = damage.truncated;
  py::dict fields;
  fields["tier"] = text_of(to_string(certificate.tier));
  fields["complete"] = certificate.complete;
  fields["exits_seen"] = certificate.exits_seen;
  fields["ended"] = maybe(certificate.ended);
  fields["losses"] = losses;
  fields["rows_are_whole"] = certificate.rows_are_whole;
  fields["total_is_whole"] = certificate.total_is_whole;
  fields["missed_at_most"] = maybe(certificate.missed_at_most);
  fields["missing"] = missing;
  fields["damage"] = lost;
  return fields;
}

/// By the names of JSON.
py::object value_of(const internal::Waste& waste) {
  const auto& [cpu, memory] = waste;
  if (cpu.tasks + memory.tasks == 0) return py::none();
  const auto known = [](const internal::Waste::Part& part, auto value) {
    return part.tasks == 0 ? py::object(py::none()) : py::cast(value);
  };
  py::dict fields;
  fields["cpu_tasks"] = known(cpu, cpu.tasks);
  fields["requested_cpu_hours"] = known(cpu, cpu.requested());
  fields["unused_cpu_hours"] = known(cpu, cpu.unused());
  fields["memory_tasks"] = known(memory, memory.tasks);
  fields["requested_memory_gib_hours"] = known(memory, memory.requested());
  fields["unused_memory_gib_hours"] = known(memory, memory.unused());
  return fields;
}

py::dict value_of(const ReportCost& cost) {
  py::dict fields;
  fields["cpu_ns"] = cost.own.cpu_ns;
  fields["snapshots_cpu_ns"] = cost.own.snapshots_cpu_ns;
  fields["kernel_ns"] = maybe(cost.own.kernel_ns);
  fields["memory_bytes"] = maybe(cost.own.memory_bytes);
  fields["kernel_memory_bytes"] = maybe(cost.own.kernel_memory_bytes);
  fields["cpu_share"] = maybe(cost.cpu_share);
  return fields;
}

py::list list_of(const std::vector<std::uint64_t>& numbers) {
  py::list list(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) list[i] = py::int_(numbers[i]);
  return list;
}

py::list list_of(const std::vector<internal::Series>& rows) {
  py::list list;
  for (const internal::Series& series : rows) {
    py::dict fields;
    fields["name"] = text_or_none(series.name);
    fields["cpu_ns"] = list_of(series.cpu_ns);
    fields["lived_ns"] = list_of(series.lived_ns);
    fields["memory_bytes"] = list_of(series.memory_bytes);
    list.append(std::move(fields));
  }
  return list;
}

template <class T, class... Maker>
py::list list_of(const std::vector<T>& values, Maker&... maker) {
  py::list list;
  for (const T& each : values) list.append(value_of(each, maker...));
  return list;
}

/// By column: short, and quick to be made.
py::dict columns_of(const std::vector<internal::ListedProcess>& processes) {
  py::dict columns;
  const auto add = [&](const char* name, auto get) {
    py::list column(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i) column[i] = get(processes[i]);
    columns[name] = std::move(column);
  };
  add("tool", [](const auto& one) { return text_of(one.tool); });
  add("command", [](const auto& one) { return text_of(one.command); });
  add("task", [](const auto& one) { return text_of(one.task); });
  add("pid", [](const auto& one) { return py::int_(one.pid); });
  add("start_ns", [](const auto& one) { return py::int_(one.start_ns); });
  add("end_ns", [](const auto& one) { return py::int_(one.end_ns); });
  add("living", [](const auto& one) { return py::bool_(one.living); });
  add("failed", [](const auto& one) { return py::bool_(one.failed); });
  add("exit_code", [](const auto& one) { return maybe(one.exit_code); });
  add("exit_signal", [](const auto& one) { return maybe(one.exit_signal); });
  add("cpu_ns", [](const auto& one) { return maybe(one.cpu_ns); });
  add("peak_bytes", [](const auto& one) { return maybe_figure(one.peak_bytes); });
  add("read_bytes", [](const auto& one) { return maybe_figure(one.read_bytes); });
  add("written_bytes", [](const auto& one) { return maybe_figure(one.written_bytes); });
  add("time", [](const auto& one) { return list_of(internal::time_shares(one.process_ledger, one.ledger)); });
  return columns;
}

}  // namespace

py::object waste_cost_value(const Report& report) {
  const auto cost = internal::waste_cost_of(report);
  if (!cost) return py::none();
  const HourlyPrice& price = cost->price;
  py::dict fields;
  fields["amount"] = cost->amount();
  fields["at_least"] = cost->at_least;
  fields["basis"] = text_of(price.basis);
  fields["price_date"] = text_of(price.date);
  fields["instance_type"] = text_or_none(price.instance_type);
  fields["region"] = text_or_none(price.region);
  fields["model"] = text_or_none(price.model);
  fields["usd_per_hour"] = text_of(price.usd_per_hour);
  fields["usd_per_cpu_hour"] = text_of(price.usd_per_cpu_hour);
  fields["usd_per_gib_hour"] = text_of(price.usd_per_gib_hour);
  fields["text"] = text_of(cost->text());
  return fields;
}

py::list findings_of(const DetailedReport& native) {
  ObjectMaker maker;
  return list_of(native.report.findings, maker);
}

py::dict values_of(const DetailedReport& native) {
  const Report& report = native.report;
  py::dict timeline;
  timeline["begin_ns"] = native.first_ns;
  timeline["part_ns"] = native.part_ns;
  timeline["parts"] = native.parts;
  timeline["tools"] = list_of(native.tools_over_time);
  timeline["tasks"] = list_of(native.tasks_over_time);
  ObjectMaker maker;
  py::dict fields;
  fields["tools"] = list_of(report.tools, maker);
  fields["steps"] = list_of(report.steps, maker);
  fields["tasks"] = list_of(report.tasks, maker);
  fields["samples"] = list_of(report.samples, maker);
  fields["tree"] = list_of(report.tree, maker);
  fields["processes"] = list_of(report.processes, maker);
  fields["total"] = value_of(report.total, maker);
  fields["answers"] = report.answers;
  fields["findings"] = findings_of(native);
  fields["failures"] = list_of(report.failures, maker);
  fields["failures_seen"] = report.failures_seen;
  fields["reader_had_enough"] = report.excused.reader_had_enough;
  fields["ended_by_starter"] = report.excused.ended_by_starter;
  fields["survivors"] = list_of(report.survivors, maker);
  fields["critical_paths"] = list_of(report.critical_paths);
  fields["pipelines"] = list_of(report.pipelines);
  fields["cgroups"] = list_of(report.cgroups);
  fields["files"] = list_of(report.files);
  fields["file_systems"] = list_of(report.file_systems);
  fields["peers"] = list_of(report.peers);
  fields["devices"] = list_of(report.devices);
  fields["gpus"] = list_of(report.gpus);
  py::list instance_types;
  for (const std::string& type : report.instance_types) instance_types.append(text_of(type));
  fields["instance_types"] = instance_types;
  fields["waste"] = value_of(internal::waste_of(report));
  fields["certificate"] = value_of(report.completeness);
  fields["cost"] = value_of(report.cost);
  fields["host"] = object_of(native.host);
  fields["command"] = native.command ? argv_of(*native.command) : py::object(py::none());
  fields["first_ns"] = native.first_ns;
  fields["last_ns"] = native.last_ns;
  fields["timeline"] = timeline;
  fields["listed"] = columns_of(native.processes);
  return fields;
}

}  // namespace tracer::python
