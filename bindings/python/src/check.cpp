// SPDX-License-Identifier: Apache-2.0
#include <tracer/check.hpp>

#include <pybind11/pybind11.h>

#include "binders.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

void bind_check(py::module_& module) {
  module.def("check", [] {
    CheckReport report;
    {
      const ReleasedGil released;
      report = check();
    }
    py::list items;
    for (const CheckItem& item : report.items) {
      py::object problem = py::none();
      if (item.problem) {
        const Problem all[] = {*item.problem};
        problem = py::tuple(exception_of(all).attr("problems"))[0];
      }
      items.append(py::make_tuple(text_of(item.name), item.required, item.available, text_of(item.effect), problem));
    }
    return items;
  });
  module.def(
      "check_engine_rules",
      [](const py::object& file) {
        const std::string path = bytes_of(file);
        const ReleasedGil released;
        check_engine_rules(path);
      },
      py::arg("file"));
}

}  // namespace tracer::python
