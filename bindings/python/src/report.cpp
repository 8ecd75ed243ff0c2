// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fcntl.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "binders.hpp"
#include "show/figures.hpp"
#include "gil.hpp"
#include "recording.hpp"
#include "show/report_text.hpp"
#include "show/screen.hpp"
#include "session.hpp"
#include "text.hpp"
#include "show/time_bar.hpp"
#include "timeline.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

using Columns = std::optional<std::size_t>;

/// Events between two looks for signals: some milliseconds.
constexpr std::size_t kEventsAtOnce = 4096;

std::uint64_t ended(const SessionFigures& session) {
  std::uint64_t sum = 0;
  for (const ContextTotals& totals : session.totals) sum += totals.ended;
  return sum;
}

SessionFigures figures_of(const HeldSession& held, bool lived_before) {
  SessionState state = held.state();
  return {std::move(state.totals), std::move(state.statistics), std::move(state.families), state.elapsed_ns,
          lived_before};
}

/// Processes end while a living session is read: what had ended before, and what has ended after, bound what was read.
void meet_living(SessionFigures& session, std::uint64_t exits, const HeldSession& held) {
  const std::uint64_t before = ended(session);
  if (exits <= before || session.totals.empty() || exits > ended(figures_of(held, false))) return;
  session.totals.front().ended += exits - before;
}

/// Of one command there are no sums of the kernel; where the session has lost nothing, neither has the command.
void meet_part(SessionFigures& session, std::uint64_t exits) {
  session.totals.clear();
  session.elapsed_ns = 0;
  session.lived_before = false;
  if (session.statistics.losses.empty()) {
    session.totals.emplace_back().ended = exits;
  } else {
    session.families.clear();
  }
}

class Reading {
 public:
  explicit Reading(const ReportOptions& options) : command_pid_(options.command_pid), listed_(options.most_processes) {}

  void add(const Event& event) {
    if (event.kind() == EventKind::kNone) return;
    if (native_.first_ns == 0) native_.first_ns = event.time_ns();
    native_.last_ns = std::max(native_.last_ns, event.time_ns());
    summary_.add(event);
    timeline_.add(event);
    if (const auto* exec = event.get_if<ProcessExec>()) {
      note_command(*exec->process);
      listed_.began(*exec);
    }
    // A session of this process is about its script, whatever that starts first.
    if (const auto* work = event.get_if<OwnWork>(); work != nullptr && !command_pid_)
      native_.command = work->process->program;
    if (const auto* exit = event.get_if<ProcessExit>()) {
      note_command(*exit->process);
      listed_.add(*exit);
    }
  }

  NativeReport finish(const RecordingReader& reader, ReportOptions options) {
    if (options.extent == Extent::kPart) {
      meet_part(options.session, summary_.exits());
    } else if (options.held != nullptr) {
      meet_living(options.session, summary_.exits(), *options.held);
    }
    native_.report = make_report(summary_, options.session);
    native_.host = reader.host();
    native_.damage = reader.damage();
    native_.part_ns = timeline_.tools().part_ns();
    native_.parts = timeline_.tools().parts();
    native_.tools_over_time = timeline_.tools().rows(options.most_rows);
    native_.tasks_over_time = timeline_.tasks().rows(options.most_rows);
    for (const ProcessSample& living : native_.report.survivors) listed_.add(living);
    native_.processes = listed_.in_order();
    return std::move(native_);
  }

 private:
  void note_command(const Process& process) {
    if (!native_.command && (!command_pid_ || *command_pid_ == process.pid)) native_.command = process.program;
  }

  std::optional<std::uint32_t> command_pid_;
  NativeReport native_;
  Summary summary_;
  Timeline timeline_;
  ProcessList listed_;
};

NativeReport report_of_reader(HeldReader& held_reader, const std::shared_ptr<HeldSession>& session,
                              const std::optional<SessionFigures>& figures, bool part,
                              std::optional<std::uint32_t> command_pid, std::size_t most_processes) {
  ReportOptions options;
  options.command_pid = command_pid;
  options.extent = part ? Extent::kPart : Extent::kWhole;
  options.most_processes = most_processes;
  options.held = session.get();
  if (figures) options.session = *figures;
  RecordingReader reader = held_reader.take();
  return read_report(reader, options);
}

NativeReport report_of_file(const py::object& path, std::size_t most_processes) {
  ReportOptions options;
  options.most_processes = most_processes;
  RecordingReader reader(std::filesystem::path(bytes_of(path)));
  return read_report(reader, options);
}

/// Of several machines, or days: each has a clock of its own, so that there is no picture of all over time.
NativeReport report_of_files(const py::list& paths, std::size_t most_processes) {
  std::vector<NativeReport> all;
  for (const py::handle path : paths)
    all.push_back(report_of_file(py::reinterpret_borrow<py::object>(path), most_processes));
  NativeReport sum = std::move(all.front());
  std::vector<Report> reports = {std::move(sum.report)};
  std::vector<std::int64_t> offsets = {static_cast<std::int64_t>(sum.host.wall_offset_ns)};
  for (std::size_t i = 1; i < all.size(); ++i) {
    NativeReport& more = all[i];
    const std::int64_t by_ns = static_cast<std::int64_t>(more.host.wall_offset_ns) - offsets.front();
    const auto moved = [by_ns](std::uint64_t time_ns) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(time_ns) + by_ns);
    };
    for (ListedProcess& each : more.processes) {
      each.start_ns = moved(each.start_ns);
      each.end_ns = moved(each.end_ns);
      sum.processes.push_back(std::move(each));
    }
    if (more.first_ns != 0) {
      sum.first_ns = sum.first_ns == 0 ? moved(more.first_ns) : std::min(sum.first_ns, moved(more.first_ns));
      sum.last_ns = std::max(sum.last_ns, moved(more.last_ns));
    }
    if (more.host.host_name != sum.host.host_name) sum.host.host_name += ", " + more.host.host_name;
    sum.damage.skipped_bytes += more.damage.skipped_bytes;
    sum.damage.skipped_events += more.damage.skipped_events;
    sum.damage.missing_frames += more.damage.missing_frames;
    if (sum.damage.read_error == 0) sum.damage.read_error = more.damage.read_error;
    sum.damage.truncated = sum.damage.truncated || more.damage.truncated;
    reports.push_back(std::move(more.report));
    offsets.push_back(static_cast<std::int64_t>(more.host.wall_offset_ns));
  }
  if (all.size() > 1) {
    sum.parts = 0;
    sum.tools_over_time.clear();
    sum.tasks_over_time.clear();
  }
  std::stable_sort(sum.processes.begin(), sum.processes.end(), [](const ListedProcess& a, const ListedProcess& b) {
    return a.cpu_ns.value_or(0) > b.cpu_ns.value_or(0);
  });
  if (sum.processes.size() > most_processes) sum.processes.resize(most_processes);
  sum.report = sum_of_reports(reports, offsets);
  return sum;
}

/// The descriptor stays the caller's.
NativeReport report_of_descriptor(int descriptor, const std::string& name, std::size_t most_processes) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw Error({ErrorCode::kFileUnreadable, errno, "can't read " + name, "name a file that is open", {}});
  ReportOptions options;
  options.most_processes = most_processes;
  RecordingReader reader(copy, name);
  return read_report(reader, options);
}

std::optional<tracer::internal::By> by_of(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  if (const auto by = tracer::internal::by_named(*name)) return by;
  throw Error({ErrorCode::kInvalidArgument,
               0,
               "by=\"" + *name + "\" is not known",
               "use one of: " + tracer::internal::names_of_by(),
               {}});
}

py::str format(const NativeReport& native, const py::object& title, const std::optional<std::string>& by,
               Columns columns, bool utf8) {
  const tracer::internal::Utf8Scope scope(utf8);
  const Columns room = columns ? Columns(std::max<std::size_t>(*columns, 20)) : std::nullopt;
  return text_of(tracer::internal::format_report(bytes_of(title), native.report, by_of(by), room));
}

/// (cells of each line, whether each column is of numbers, what the signs mean)
py::tuple table(const NativeReport& native, const std::optional<std::string>& by, Columns columns, bool utf8) {
  const tracer::internal::Utf8Scope scope(utf8);
  const tracer::internal::ShownTable shown = tracer::internal::make_table(native.report, by_of(by), columns);
  py::list lines;
  for (const auto& line : shown.grid.lines()) {
    py::list cells;
    for (const std::string& cell : line) cells.append(text_of(cell));
    lines.append(std::move(cells));
  }
  py::list numbers;
  for (const tracer::internal::Align align : shown.grid.columns())
    numbers.append(align == tracer::internal::Align::kRight);
  return py::make_tuple(lines, numbers, text_of(shown.legend));
}

py::dict notes(const NativeReport& native, Columns columns, bool utf8) {
  const tracer::internal::Utf8Scope scope(utf8);
  const tracer::internal::ReportNotes notes = tracer::internal::format_notes(native.report, columns);
  py::dict parts;
  parts["pipelines"] = text_of(notes.pipelines);
  parts["cgroups"] = text_of(notes.cgroups);
  parts["engines"] = text_of(notes.engines);
  parts["failures"] = text_of(notes.failures);
  parts["excused"] = text_of(notes.excused);
  parts["survivors"] = text_of(notes.survivors);
  parts["certificate"] = text_of(notes.certificate);
  return parts;
}

}  // namespace

NativeReport read_report(RecordingReader& reader, const ReportOptions& options) {
  Reading reading(options);
  for (bool more = true; more;) {
    {
      const ReleasedGil released;
      for (std::size_t i = 0; more && i < kEventsAtOnce; ++i) {
        const std::optional<Event> event = reader.next();
        more = event.has_value();
        if (more) reading.add(*event);
      }
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  const ReleasedGil released;
  return reading.finish(reader, options);
}

void bind_report(py::module_& module) {
  py::class_<NativeReport>(module, "NativeReport")
      .def("values", &values_of)
      .def("json", [](const NativeReport& native) { return text_of(to_json(native.report)); })
      .def("format", &format, py::arg("title"), py::arg("by"), py::arg("columns"), py::arg("utf8"))
      .def("table", &table, py::arg("by"), py::arg("columns"), py::arg("utf8"))
      .def("notes", &notes, py::arg("columns"), py::arg("utf8"));
  py::class_<SessionFigures>(module, "SessionFigures");
  module.def("session_figures", &figures_of, py::arg("session"), py::arg("lived_before"),
             py::call_guard<ReleasedGil>());
  module.def("report_of_reader", &report_of_reader, py::arg("reader"), py::arg("session"), py::arg("figures"),
             py::arg("part"), py::arg("command_pid"), py::arg("most_processes"));
  module.def("report_of_file", &report_of_file, py::arg("path"), py::arg("most_processes"));
  module.def("report_of_files", &report_of_files, py::arg("paths"), py::arg("most_processes"));
  module.def("report_of_descriptor", &report_of_descriptor, py::arg("descriptor"), py::arg("name"),
             py::arg("most_processes"));
  module.def("format_duration", &tracer::internal::format_duration, py::arg("ns"));
  module.def("format_bytes", &tracer::internal::format_bytes, py::arg("bytes"));
  module.def("format_share", &tracer::internal::format_share, py::arg("share"));
}

}  // namespace tracer::python
