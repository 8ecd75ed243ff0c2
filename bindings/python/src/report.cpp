// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fcntl.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string>

#include "add_events.hpp"
#include "binders.hpp"
#include "gil.hpp"
#include "recording.hpp"
#include "report/hourly_price.hpp"
#include "report/json/document.hpp"
#include "report/meet_living.hpp"
#include "session.hpp"
#include "show/certificate_text.hpp"
#include "show/figures.hpp"
#include "show/page.hpp"
#include "show/page_files.hpp"
#include "show/report_text.hpp"
#include "show/screen.hpp"
#include "stream/recording_series.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

using Columns = std::optional<std::size_t>;

SessionFigures figures_of(const HeldSession& held, bool lived_before) {
  SessionFigures figures = held.figures();
  figures.lived_before = lived_before;
  // It is that of all that the program holds, too.
  figures.statistics.cost.memory_bytes.reset();
  return figures;
}

/// Of a session whose events are still being written: that they have no end is no damage.
RecordingDamage so_far(RecordingDamage damage) {
  damage.truncated = false;
  return damage;
}

void meet_living(SessionFigures& session, std::uint64_t exits, const HeldSession& held) {
  internal::meet_living(session, exits, [&held] { return figures_of(held, false); });
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
    session.tier = Tier::kRecording;
  }
}

void add_all(RecordingReader& reader, internal::DetailedSummary& summary) {
  internal::RecordedEvents events(reader);
  add_events(events, summary);
}

DetailedReport report_of_reader(HeldReader& held_reader, const std::shared_ptr<HeldSession>& session,
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

/// Of a living session: each report reads what was written since the one before.
class LiveReport {
 public:
  LiveReport(HeldReader& reader, std::size_t most_processes)
      : reader_(reader.take()), summary_(std::nullopt, most_processes) {
    internal::RecordingAccess::series(reader_)->expect_growth();
  }

  DetailedReport report(const HeldSession& held, SessionFigures session) {
    std::optional<std::unique_lock<std::mutex>> lock;
    {
      // Whoever has the lock may wait for the GIL.
      const ReleasedGil released;
      lock.emplace(mutex_);
    }
    add_all(reader_, summary_);
    const ReleasedGil released;
    meet_living(session, summary_.summary().exits(), held);
    session.damage = so_far(reader_.damage());
    DetailedReport made = summary_.report(session);
    made.hosts = {reader_.host()};
    return made;
  }

 private:
  std::mutex mutex_;
  RecordingReader reader_;
  internal::DetailedSummary summary_;
};

DetailedReport report_of_files(const py::list& paths, std::size_t most_processes) {
  ReportOptions options;
  options.most_processes = most_processes;
  std::vector<DetailedReport> all;
  for (RecordingReader& reader : open_recordings(paths_of(paths))) all.push_back(read_report(reader, options));
  return internal::sum_of_detailed_reports(std::move(all), most_processes);
}

/// The descriptor stays the caller's.
DetailedReport report_of_descriptor(int descriptor, const std::string& name, std::size_t most_processes) {
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

py::str format(const DetailedReport& native, const py::object& title, const std::optional<std::string>& by,
               Columns columns, bool utf8) {
  const tracer::internal::Utf8Scope scope(utf8);
  const Columns room = columns ? Columns(std::max<std::size_t>(*columns, 20)) : std::nullopt;
  return text_of(tracer::internal::format_report(bytes_of(title), native.report, by_of(by), room));
}

DetailedReport priced(DetailedReport native, HourlyPrice price) {
  native.report.price = std::move(price);
  return native;
}

/// (cells of each line, whether each column is of numbers, what the signs mean)
py::tuple table(const DetailedReport& native, const std::optional<std::string>& by, Columns columns, bool utf8) {
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

py::list texts_of(const std::vector<std::string>& lines) {
  py::list list;
  for (const std::string& line : lines) list.append(text_of(line));
  return list;
}

py::list damage_lines(std::uint64_t skipped_bytes, std::uint64_t skipped_events, std::uint64_t missing_frames,
                      int read_error, bool truncated) {
  RecordingDamage damage;
  damage.skipped_bytes = skipped_bytes;
  damage.skipped_events = skipped_events;
  damage.missing_frames = missing_frames;
  damage.read_error = read_error;
  damage.truncated = truncated;
  return texts_of(internal::lines_of(damage));
}

py::dict notes(const DetailedReport& native, Columns columns, bool utf8) {
  const tracer::internal::Utf8Scope scope(utf8);
  const tracer::internal::ReportNotes notes = tracer::internal::format_notes(native.report, columns);
  py::dict parts;
  parts["findings"] = text_of(notes.findings);
  parts["paths"] = text_of(notes.paths);
  parts["pipelines"] = text_of(notes.pipelines);
  parts["cgroups"] = text_of(notes.cgroups);
  parts["touched"] = text_of(notes.touched);
  parts["engines"] = text_of(notes.engines);
  parts["queue"] = text_of(notes.queue);
  parts["requested"] = text_of(notes.requested);
  parts["waste"] = text_of(notes.waste);
  parts["failures"] = text_of(notes.failures);
  parts["excused"] = text_of(notes.excused);
  parts["survivors"] = text_of(notes.survivors);
  parts["certificate"] = text_of(notes.certificate);
  return parts;
}

}  // namespace

DetailedReport read_report(RecordingReader& reader, const ReportOptions& options) {
  internal::DetailedSummary summary(options.command_pid, options.most_processes);
  add_all(reader, summary);
  const ReleasedGil released;
  SessionFigures session = options.session;
  if (options.extent == Extent::kPart) {
    meet_part(session, summary.summary().exits());
  } else if (options.held != nullptr) {
    meet_living(session, summary.summary().exits(), *options.held);
  }
  session.damage = options.held != nullptr ? so_far(reader.damage()) : reader.damage();
  DetailedReport made = summary.report(session);
  made.hosts = {reader.host()};
  return made;
}

void bind_report(py::module_& module) {
  py::class_<DetailedReport>(module, "NativeReport")
      .def("values", &values_of)
      .def("findings", &findings_of)
      .def("json", [](const DetailedReport& native) { return text_of(to_json(native.report)); })
      .def("format", &format, py::arg("title"), py::arg("by"), py::arg("columns"), py::arg("utf8"))
      .def("held", [](const DetailedReport& native) { return text_of(internal::held_of(native)); })
      .def(
          "document",
          [](const DetailedReport& native, const py::object& title, bool whole) {
            return text_of(internal::document_of(native, bytes_of(title), whole));
          },
          py::arg("title"), py::arg("whole"))
      .def(
          "priced",
          [](const DetailedReport& native, const std::string& price) {
            return priced(native, internal::price_of_json(price, "the price"));
          },
          py::arg("price"))
      .def(
          "priced_by",
          [](const DetailedReport& native, const py::object& path) {
            return priced(native, read_price(std::filesystem::path(bytes_of(path))));
          },
          py::arg("path"))
      .def("waste_cost", [](const DetailedReport& native) { return waste_cost_value(native.report); })
      .def("unknown", [](const DetailedReport& native) { return texts_of(internal::unknown_of(native.report)); })
      .def("table", &table, py::arg("by"), py::arg("columns"), py::arg("utf8"))
      .def("notes", &notes, py::arg("columns"), py::arg("utf8"));
  py::class_<SessionFigures>(module, "SessionFigures");
  module.def("session_figures", &figures_of, py::arg("session"), py::arg("lived_before"),
             py::call_guard<ReleasedGil>());
  py::class_<LiveReport>(module, "LiveReport")
      .def(py::init<HeldReader&, std::size_t>(), py::arg("reader"), py::arg("most_processes"))
      .def("report", &LiveReport::report, py::arg("session"), py::arg("figures"));
  module.def("report_of_reader", &report_of_reader, py::arg("reader"), py::arg("session"), py::arg("figures"),
             py::arg("part"), py::arg("command_pid"), py::arg("most_processes"));
  module.def("report_of_files", &report_of_files, py::arg("paths"), py::arg("most_processes"));
  module.def("report_of_descriptor", &report_of_descriptor, py::arg("descriptor"), py::arg("name"),
             py::arg("most_processes"));
  module.def("report_parts", &report_parts);
  module.def("damage_lines", &damage_lines, py::arg("skipped_bytes"), py::arg("skipped_events"),
             py::arg("missing_frames"), py::arg("read_error"), py::arg("truncated"));
  module.def(
      "page_of",
      [](const py::object& document, const py::object& title, const py::object& text) {
        return text_of(internal::page_of(bytes_of(document), bytes_of(title), bytes_of(text)));
      },
      py::arg("document"), py::arg("title"), py::arg("text"));
  module.def(
      "page_file", [](const std::string& name) { return text_of(std::string(internal::page_file(name))); },
      py::arg("name"));
  module.def("format_duration", &tracer::internal::format_duration, py::arg("ns"));
  module.def("format_bytes", &tracer::internal::format_bytes, py::arg("bytes"));
  module.def("format_share", &tracer::internal::format_share, py::arg("share"));
}

}  // namespace tracer::python
