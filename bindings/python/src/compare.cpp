// SPDX-License-Identifier: Apache-2.0
/// Two recordings side by side.
#include <pybind11/pybind11.h>

#include "binders.hpp"
#include "gil.hpp"
#include "recording.hpp"
#include "report/compare.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

internal::ComparedSide side_of(RecordingReader reader) {
  internal::ComparedTrace trace;
  while (const auto event = reader.next()) trace.add(*event);
  return trace.side();
}

py::str compare(HeldReader& held_a, HeldReader& held_b) {
  std::string json;
  RecordingReader a = held_a.take(), b = held_b.take();
  {
    const ReleasedGil released;
    json = internal::compare_json(internal::compare(side_of(std::move(a)), side_of(std::move(b))));
  }
  return text_of(json);
}

}  // namespace

void bind_compare(py::module_& module) { module.def("compare", &compare, py::arg("a"), py::arg("b")); }

}  // namespace tracer::python
