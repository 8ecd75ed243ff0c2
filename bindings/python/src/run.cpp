// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tracer/recording.hpp>
#include <tracer/run.hpp>
#include <tracer/sink.hpp>

#include "binders.hpp"
#include "command_run.hpp"
#include "gil.hpp"
#include "text.hpp"
#include "wait.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

std::vector<std::string> words_of(const py::object& words) {
  std::vector<std::string> all;
  for (const py::handle word : words) all.push_back(bytes_of(word));
  return all;
}

std::unique_ptr<CommandRun> make_run(const py::object& argv, const py::object& environment, const py::object& cwd,
                                     const py::object& user, std::array<int, 3> streams, const HeldSession* session) {
  CommandOptions options;
  options.argv = words_of(argv);
  if (!environment.is_none()) options.environment = words_of(environment);
  const auto name = maybe_bytes_of(user);
  auto folder = maybe_bytes_of(cwd);
  const ReleasedGil released;
  if (name) options.user = find_user(*name);
  return std::make_unique<CommandRun>(std::move(options), std::move(folder), streams, session);
}

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::kAtLeast: return "at least";
    case Bound::kAtMost: return "at most";
    case Bound::kExact: break;
  }
  return "exact";
}

py::object object_of(const std::optional<Figure>& figure) {
  if (!figure) return py::none();
  return py::make_tuple(figure->value, bound_name(figure->bound));
}

py::dict usage_of(const CommandRun& run, const HeldSession* session) {
  Report report;
  std::optional<Figure> largest;
  {
    const ReleasedGil released;
    std::tie(report, largest) = run.report(session);
  }
  const ReportRow& total = report.total;
  py::dict usage;
  usage["processes"] = total.processes;
  usage["failed"] = py::make_tuple(total.failed.value, bound_name(total.failed.bound));
  usage["wall_ns"] = total.wall_ns;
  usage["cpu_ns"] = object_of(total.cpu_ns);
  usage["peak_rss_bytes"] = object_of(largest);
  usage["peak_memory_bytes"] = object_of(total.memory_bytes);
  usage["read_bytes"] = object_of(total.read_bytes);
  usage["written_bytes"] = object_of(total.written_bytes);
  py::list time;
  for (const TimeShare& each : total.time)
    time.append(py::make_tuple(text_of(to_string(each.cause)), each.time_ns, each.share));
  usage["time"] = time;
  return usage;
}

/// What of a recording is about one command, into another.
void copy_tree(const std::shared_ptr<HeldReader>& reader, pid_t pid, std::uint64_t since_ns, bool whole, int fd,
               std::string name) {
  constexpr std::size_t kAtOnce = 512;
  ProcessTree tree(pid, since_ns, whole);
  const auto sink = recording_sink(copy_of(fd), std::move(name), reader->host());
  for (;;) {
    std::vector<Event> events = reader->read(kAtOnce);
    const bool last = events.size() < kAtOnce;
    std::erase_if(events, [&](const Event& event) { return !tree.takes(event); });
    sink->write(events);
    if (last) break;
  }
  sink->flush();
  if (const auto problem = sink->problem()) throw Error(*problem);
}

/// As tracer::end_of_links(): the path, and whether a link that it is may be followed. Raises OSError(ELOOP).
py::tuple end_of_links_of(const py::object& file) {
  const auto end = end_of_links(bytes_of(file));
  if (!end) {
    PyErr_SetFromErrno(PyExc_OSError);
    throw py::error_already_set();
  }
  return py::make_tuple(text_of(end->path.string()), end->follow);
}

}  // namespace

void bind_run(py::module_& module) {
  py::class_<CommandRun>(module, "CommandRun")
      .def(py::init(&make_run), py::arg("argv"), py::arg("environment"), py::arg("cwd"), py::arg("user"),
           py::arg("streams"), py::arg("session") = nullptr)
      .def_property_readonly("pid", &CommandRun::pid)
      .def_property_readonly("since_ns", &CommandRun::since_ns)
      .def("watch", &CommandRun::watch, py::arg("session"), py::arg("whole"), py::call_guard<ReleasedGil>())
      .def("release", &CommandRun::release, py::call_guard<ReleasedGil>())
      .def(
          "wait",
          [](CommandRun& run, std::optional<double> timeout) {
            return wait_interruptibly(timeout, [&](std::chrono::milliseconds slice) { return run.wait(slice); });
          },
          py::arg("timeout") = py::none())
      .def_property_readonly("running", &CommandRun::running)
      .def_property_readonly("status", &CommandRun::status)
      .def("signal", &CommandRun::signal, py::arg("number"))
      .def("settle",
           [](CommandRun& run) {
             wait_interruptibly(std::nullopt, [&](std::chrono::milliseconds slice) { return run.settle(slice); });
           })
      .def_property_readonly("settled", &CommandRun::settled)
      .def("unwatch", &CommandRun::unwatch, py::call_guard<ReleasedGil>())
      .def("usage", &usage_of, py::arg("session") = nullptr);
  module.def("end_of_links", &end_of_links_of, py::arg("file"));
  module.def("copy_tree", &copy_tree, py::arg("reader"), py::arg("pid"), py::arg("since_ns"), py::arg("whole"),
             py::arg("fd"), py::arg("name"), py::call_guard<ReleasedGil>());
}

}  // namespace tracer::python
