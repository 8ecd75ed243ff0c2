// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include <pybind11/stl.h>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/event.hpp>

#include "binders.hpp"
#include "events.hpp"
#include "gil.hpp"
#include "text.hpp"
#include "wait.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

template <class... E>
std::optional<EventKind> kind_named(std::string_view name, internal::TypeList<E...>) {
  std::optional<EventKind> found;
  ((to_string(E::kKind) == name ? void(found = E::kKind) : void()), ...);
  return found;
}

}  // namespace

EventKind kind_of(py::handle name) {
  if (!py::isinstance<py::str>(name))
    throw py::type_error(fmt::format("a kind of events is a text, not {}", Py_TYPE(name.ptr())->tp_name));
  const std::string text = bytes_of(name);
  if (const auto kind = kind_named(text, internal::EventTypes())) return *kind;
  throw Error({ErrorCode::kInvalidArgument,
               0,
               fmt::format("there are no events of the kind \"{}\"", text),
               "name kinds as tracer.EVENT_KINDS has them: process_exit, task_finish …",
               {}});
}

std::vector<EventKind> kinds_of(const py::object& names) {
  if (py::isinstance<py::str>(names)) return {kind_of(names)};
  std::vector<EventKind> kinds;
  for (const py::handle name : names) kinds.push_back(kind_of(name));
  if (kinds.empty())
    throw Error({ErrorCode::kInvalidArgument, 0, "no kinds of events are asked for", "leave kinds out for all", {}});
  return kinds;
}

void bind_queue(py::module_& module) {
  module.def(
      "check_kinds",
      [](const py::object& names) {
        py::set known;
        for (const EventKind kind : kinds_of(names)) known.add(text_of(to_string(kind)));
        return known;
      },
      py::arg("kinds"));
  py::class_<HeldQueue>(module, "Queue")
      .def(
          "read",
          [](const HeldQueue& queue, std::size_t most) {
            std::vector<Event> events;
            {
              const ReleasedGil released;
              events.resize(most);
              events.resize(queue.get().read(events));
            }
            return objects_of(events);
          },
          py::arg("most"))
      .def(
          "wait",
          [](const HeldQueue& queue, std::optional<double> timeout) {
            return wait_interruptibly(timeout,
                                      [&](std::chrono::milliseconds slice) { return queue.get().wait(slice); });
          },
          py::arg("timeout") = py::none())
      .def("fd", [](const HeldQueue& queue) { return queue.get().fd(); })
      .def(
          "ended", [](const HeldQueue& queue) { return queue.get().ended(); }, py::call_guard<ReleasedGil>())
      .def(
          "dropped", [](const HeldQueue& queue) { return queue.get().dropped(); }, py::call_guard<ReleasedGil>())
      .def("drop_when_full", [](const HeldQueue& queue) { queue.get().set_when_full(WhenFull::kDropOldest); });
}

}  // namespace tracer::python
