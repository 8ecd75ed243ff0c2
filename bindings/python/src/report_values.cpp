// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/schema.hpp"
#include "events.hpp"
#include "report.hpp"
#include "report/report_parts.hpp"
#include "report/row_figures.hpp"
#include "report/sums/rows.hpp"
#include "report/sums/summary_level.hpp"
#include "report/waste.hpp"
#include "report/waste_cost.hpp"
#include "show/report_text.hpp"
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

py::object argv_of(const Program& program) {
  if (!program.argv) return py::none();
  py::list words;
  for (const std::string& word : *program.argv) words.append(text_of(word));
  return words;
}

py::object value_of(const std::optional<double>& value) { return maybe(value); }
py::object value_of(const std::optional<Figure>& figure) { return maybe_figure(figure); }
py::object value_of(std::uint64_t value) { return py::int_(value); }

void put_process(py::dict& fields, const Process& process) {
  const Program& program = *process.program;
  fields["pid"] = process.pid;
  fields["start_ns"] = process.start_ns;
  fields["tool"] = maybe_text(internal::known_tool(program));
  fields["exe"] = maybe_text(program.exe);
  fields["argv"] = argv_of(program);
}

template <internal::IsReportPart T>
py::dict part_value(const T& part, ObjectMaker& maker);

template <class V>
void put_key(py::dict& fields, const char* name, const V& value, ObjectMaker& maker) {
  if constexpr (std::is_same_v<V, Process>) {
    put_process(fields, value);
  } else if constexpr (std::is_same_v<V, Context>) {
    fields[name] = maker.context(value);
  } else if constexpr (std::is_same_v<V, Figure> || std::is_same_v<V, std::optional<Figure>>) {
    fields[name] = value_of(value);
  } else if constexpr (std::is_same_v<V, std::optional<std::string>>) {
    fields[name] = maybe_text(value);
  } else if constexpr (internal::kIsOptional<V>) {
    fields[name] = maybe(value);
  } else if constexpr (std::is_same_v<V, Key>) {
    fields[name] = text_of(to_string(value));
  } else if constexpr (std::is_convertible_v<V, std::string_view>) {
    fields[name] = text_of(value);
  } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
    py::list texts;
    for (const std::string& each : value) texts.append(text_of(each));
    fields[name] = texts;
  } else if constexpr (std::is_same_v<V, std::map<std::string, std::uint64_t>>) {
    py::dict counts;
    for (const auto& [cause, count] : value) counts[text_of(cause)] = count;
    fields[name] = counts;
  } else if constexpr (internal::IsReportPart<V>) {
    fields[name] = part_value(value, maker);
  } else if constexpr (internal::kIsListOfParts<V>) {
    py::list parts;
    for (const auto& each : value) parts.append(part_value(each, maker));
    fields[name] = parts;
  } else {
    fields[name] = py::cast(value);
  }
}

template <internal::IsReportPart T>
py::dict part_value(const T& part, ObjectMaker& maker) {
  py::dict fields;
  internal::each_part_key<T>([&](const auto& key) { put_key(fields, key.name, std::invoke(key.get, part), maker); });
  return fields;
}

template <internal::IsReportPart T>
py::list list_of(const std::vector<T>& parts, ObjectMaker& maker) {
  py::list list;
  for (const T& each : parts) list.append(part_value(each, maker));
  return list;
}

py::list list_of(const std::vector<CriticalPath>& paths, ObjectMaker& maker) {
  py::list list;
  for (const CriticalPath& path : paths) {
    py::dict fields = part_value(path, maker);
    fields["run_key"] = text_of(to_string(path.run_key));
    fields["without_task_ns"] = maybe(path.without_task_ns);
    list.append(std::move(fields));
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
  fields["processes_bound"] = name_of(row.processes_bound);
  fields["wall_bound"] = name_of(row.wall_bound);
  fields["time"] = list_of(row.time, maker);
  fields["task_ledger"] = row.task_ledger ? maker.part(*row.task_ledger) : py::object(py::none());
  py::list awaited;
  for (const AwaitedTask& each : row.waits_for) awaited.append(maker.part(each));
  fields["waits_for"] = awaited;
  fields["bound_by"] = text_or_none(row.bound_by);
  fields["bound_share"] = maybe(row.bound_share);
  fields["requested"] = row.requested == Requested{} ? py::object(py::none()) : maker.part(row.requested);
  fields["requested_use"] =
      row.requested_use ? py::object(part_value(*row.requested_use, maker)) : py::object(py::none());
  fields["state"] = text_or_none(internal::state_of(row.submitted));
  fields["outcome"] = maybe_text(row.submitted.outcome);
  fields["submitted_ns"] =
      row.submitted.submitted_ns == 0 ? py::object(py::none()) : py::object(py::int_(row.submitted.submitted_ns));
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

py::list list_of(const std::vector<Failure>& failures, ObjectMaker& maker) {
  py::list list;
  for (const Failure& each : failures) {
    py::dict fields = part_value(each, maker);
    fields["status"] = text_of(internal::format_status(each));
    fields["outcome"] = text_of(internal::format_outcome(each));
    list.append(std::move(fields));
  }
  return list;
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

/// The type of an attribute in Python; "process": the attributes of one.
template <class V>
struct TypeName {
  static std::string get() {
    if constexpr (std::is_same_v<V, bool>) return "bool";
    if constexpr (std::is_integral_v<V>) return "int";
    if constexpr (std::is_same_v<V, Key>) return "str";
    if constexpr (std::is_floating_point_v<V>) return "float";
    if constexpr (std::is_same_v<V, Figure>) return "Figure";
    if constexpr (std::is_same_v<V, Process>) return "process";
    if constexpr (std::is_same_v<V, Context>) return "Context | None";
    if constexpr (std::is_convertible_v<V, std::string_view>) return "str";
    if constexpr (std::is_same_v<V, std::vector<std::string>>) return "tuple[str, ...]";
    if constexpr (std::is_same_v<V, std::map<std::string, std::uint64_t>>) return "Mapping[str, int]";
    if constexpr (internal::IsReportPart<V>) return internal::ReportPart<V>::kClass;
  }
};
template <class V>
struct TypeName<std::optional<V>> {
  static std::string get() { return TypeName<V>::get() + " | None"; }
};
template <internal::IsReportPart V>
struct TypeName<std::vector<V>> {
  static std::string get() { return "tuple[" + TypeName<V>::get() + ", ...]"; }
};

/// The first, with the names of all.
HostInfo all_as_one(const std::vector<HostInfo>& hosts) {
  HostInfo all;
  for (const HostInfo& each : hosts) {
    if (&each == &hosts.front())
      all = each;
    else
      all.host_name += ", " + each.host_name;
  }
  return all;
}

}  // namespace

/// (class, what it is, [(attribute, type, when it is None, meaning)])
py::list report_parts() {
  py::list classes;
  internal::each_report_part([&classes]<class T>() {
    py::list attributes;
    internal::each_part_key<T>([&attributes]<class Get>(const internal::PartKey<Get>& key) {
      attributes.append(
          py::make_tuple(key.name, TypeName<internal::PartValue<T, Get>>::get(), key.absent, key.meaning));
    });
    classes.append(py::make_tuple(internal::ReportPart<T>::kClass, internal::ReportPart<T>::kWhat, attributes));
  });
  return classes;
}

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
  py::list findings;
  for (const Finding& each : native.report.findings) findings.append(maker.event(Event(each)));
  return findings;
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
  fields["verdict"] = report.verdict.empty() ? py::object(py::none()) : py::cast(report.verdict);
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
  fields["excused"] = part_value(report.excused, maker);
  fields["survivors"] = list_of(report.survivors, maker);
  fields["critical_paths"] = list_of(report.critical_paths, maker);
  fields["pipelines"] = list_of(report.pipelines, maker);
  fields["cgroups"] = list_of(report.cgroups, maker);
  fields["files"] = list_of(report.files, maker);
  fields["file_systems"] = list_of(report.file_systems, maker);
  fields["peers"] = list_of(report.peers, maker);
  fields["devices"] = list_of(report.devices, maker);
  fields["gpus"] = list_of(report.gpus, maker);
  py::list instance_types;
  for (const std::string& type : report.instance_types) instance_types.append(text_of(type));
  fields["instance_types"] = instance_types;
  const internal::Waste waste = internal::waste_of(report);
  fields["waste"] = waste.cpu_hours.tasks + waste.memory_gib_hours.tasks == 0 ? py::object(py::none())
                                                                              : py::object(part_value(waste, maker));
  fields["certificate"] = part_value(report.completeness, maker);
  fields["cost"] = part_value(report.cost, maker);
  fields["host"] = object_of(all_as_one(native.hosts));
  fields["command"] = native.command ? argv_of(*native.command) : py::object(py::none());
  fields["first_ns"] = native.first_ns;
  fields["last_ns"] = native.last_ns;
  fields["timeline"] = timeline;
  return fields;
}

}  // namespace tracer::python
