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

py::str compare(HeldReader& held_a, HeldReader& held_b) {
  std::string json;
  RecordingReader a = held_a.take(), b = held_b.take();
  {
    const ReleasedGil released;
    json = internal::compare_json(internal::compare(internal::side_of(a), internal::side_of(b)));
  }
  return text_of(json);
}

}  // namespace

void bind_compare(py::module_& module) { module.def("compare", &compare, py::arg("a"), py::arg("b")); }

}  // namespace tracer::python
