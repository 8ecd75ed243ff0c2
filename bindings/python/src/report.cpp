// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fcntl.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>

#include "binders.hpp"
#include "figures.hpp"
#include "report_text.hpp"
#include "screen.hpp"
#include "text.hpp"
#include "time_bar.hpp"
#include "timeline.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

using Columns = std::optional<std::size_t>;

/// Events between two looks for signals: some milliseconds.
constexpr std::size_t kEventsAtOnce = 4096;

class Reading {
 public:
  explicit Reading(const ReportOptions& options) : listed_(options.most_processes) {}

  void add(const Event& event) {
    if (event.kind() == EventKind::kNone) return;
    if (native_.first_ns == 0) native_.first_ns = event.time_ns();
    native_.last_ns = std::max(native_.last_ns, event.time_ns());
    summary_.add(event);
    timeline_.add(event);
    if (const auto* exit = event.get_if<ProcessExit>()) listed_.add(*exit);
  }

  NativeReport finish(const RecordingReader& reader, const ReportOptions& options) {
    native_.report = make_report(summary_, options.session);
    native_.host = reader.host();
    native_.damage = reader.damage();
    native_.part_ns = timeline_.tools().part_ns();
    native_.parts = timeline_.tools().parts();
    native_.tools_over_time = timeline_.tools().rows(options.most_rows);
    native_.tasks_over_time = timeline_.tasks().rows(options.most_rows);
    native_.processes = listed_.in_order();
    return std::move(native_);
  }

 private:
  NativeReport native_;
  Summary summary_;
  Timeline timeline_;
  ProcessList listed_;
};

NativeReport report_of_reader(RecordingReader reader, std::size_t most_processes) {
  ReportOptions options;
  options.most_processes = most_processes;
  return read_report(reader, options);
}

NativeReport report_of_file(const py::object& path, std::size_t most_processes) {
  return report_of_reader(RecordingReader(std::filesystem::path(bytes_of(path))), most_processes);
}

/// The descriptor stays the caller's.
NativeReport report_of_descriptor(int descriptor, const std::string& name, std::size_t most_processes) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw Error({ErrorCode::kFileUnreadable, errno, "can't read " + name, "name a file that is open", {}});
  return report_of_reader(RecordingReader(copy, name), most_processes);
}

std::optional<tracerd::By> by_of(const std::optional<std::string>& name) {
  using tracerd::By;
  if (!name) return std::nullopt;
  constexpr std::array<std::pair<const char*, By>, 5> kNames = {
      {{"run", By::kRun}, {"step", By::kStep}, {"task", By::kTask}, {"tool", By::kTool}, {"process", By::kProcess}}};
  for (const auto& [known, by] : kNames)
    if (*name == known) return by;
  throw Error({ErrorCode::kInvalidArgument,
               0,
               "by=\"" + *name + "\" is not known",
               "use \"run\", \"step\", \"task\", \"tool\" or \"process\"",
               {}});
}

py::str format(const NativeReport& native, const py::object& title, const std::optional<std::string>& by,
               Columns columns, bool utf8) {
  const tracerd::Utf8Scope scope(utf8);
  const Columns room = columns ? Columns(std::max<std::size_t>(*columns, 20)) : std::nullopt;
  return text_of(tracerd::format_report(bytes_of(title), native.report, by_of(by), room));
}

/// (cells of each line, whether each column is of numbers, what the signs mean)
py::tuple table(const NativeReport& native, const std::optional<std::string>& by, Columns columns, bool utf8) {
  const tracerd::Utf8Scope scope(utf8);
  const tracerd::ShownTable shown = tracerd::make_table(native.report, by_of(by), columns);
  py::list lines;
  for (const auto& line : shown.grid.lines()) {
    py::list cells;
    for (const std::string& cell : line) cells.append(text_of(cell));
    lines.append(std::move(cells));
  }
  py::list numbers;
  for (const tracerd::Align align : shown.grid.columns()) numbers.append(align == tracerd::Align::kRight);
  return py::make_tuple(lines, numbers, text_of(shown.legend));
}

py::dict notes(const NativeReport& native, Columns columns, bool utf8) {
  const tracerd::Utf8Scope scope(utf8);
  const tracerd::ReportNotes notes = tracerd::format_notes(native.report, columns);
  py::dict parts;
  parts["pipelines"] = text_of(notes.pipelines);
  parts["cgroups"] = text_of(notes.cgroups);
  parts["engines"] = text_of(notes.engines);
  parts["failures"] = text_of(notes.failures);
  parts["survivors"] = text_of(notes.survivors);
  parts["certificate"] = text_of(notes.certificate);
  return parts;
}

}  // namespace

NativeReport read_report(RecordingReader& reader, const ReportOptions& options) {
  Reading reading(options);
  for (bool more = true; more;) {
    {
      const py::gil_scoped_release released;
      for (std::size_t i = 0; more && i < kEventsAtOnce; ++i) {
        const std::optional<Event> event = reader.next();
        more = event.has_value();
        if (more) reading.add(*event);
      }
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  const py::gil_scoped_release released;
  return reading.finish(reader, options);
}

void bind_report(py::module_& module) {
  py::class_<NativeReport>(module, "NativeReport")
      .def("values", &values_of)
      .def("format", &format, py::arg("title"), py::arg("by"), py::arg("columns"), py::arg("utf8"))
      .def("table", &table, py::arg("by"), py::arg("columns"), py::arg("utf8"))
      .def("notes", &notes, py::arg("columns"), py::arg("utf8"));
  module.def("report_of_file", &report_of_file, py::arg("path"), py::arg("most_processes"));
  module.def("report_of_descriptor", &report_of_descriptor, py::arg("descriptor"), py::arg("name"),
             py::arg("most_processes"));
  module.def("format_duration", &tracerd::format_duration, py::arg("ns"));
  module.def("format_bytes", &tracerd::format_bytes, py::arg("bytes"));
  module.def("format_share", &tracerd::format_share, py::arg("share"));
}

}  // namespace tracer::python
