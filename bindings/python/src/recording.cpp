// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "binders.hpp"
#include "events.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

void bind_recording(py::module_& module) {
  py::class_<HeldReader, std::shared_ptr<HeldReader>>(module, "RecordingReader")
      .def(py::init([](const py::object& file) {
             const std::string path = bytes_of(file);
             const py::gil_scoped_release released;
             return std::make_shared<HeldReader>(RecordingReader(std::filesystem::path(path)));
           }),
           py::arg("file"))
      .def(py::init([](int fd, const py::str& name) {
             std::string text = bytes_of(name);
             const py::gil_scoped_release released;
             return std::make_shared<HeldReader>(RecordingReader(fd, std::move(text)));
           }),
           py::arg("fd"), py::arg("name"))
      .def("host", [](const HeldReader& reader) { return object_of(reader.host()); })
      .def(
          "read",
          [](HeldReader& reader, std::size_t most) {
            std::vector<Event> events;
            {
              const py::gil_scoped_release released;
              events = reader.read(most);
            }
            return ObjectMaker().events(events);
          },
          py::arg("most"))
      .def(
          "skip", [](HeldReader& reader, std::size_t most) { return reader.read(most).size(); }, py::arg("most"),
          py::call_guard<py::gil_scoped_release>())
      .def("damage", [](const HeldReader& reader) {
        const RecordingDamage damage = reader.damage();
        return py::make_tuple(damage.skipped_bytes, damage.skipped_events, damage.missing_frames, damage.read_error,
                              damage.truncated);
      });
}

}  // namespace tracer::python
