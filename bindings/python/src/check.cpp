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
    const auto object_of = [](const std::optional<Problem>& problem) -> py::object {
      if (!problem) return py::none();
      const Problem all[] = {*problem};
      return py::tuple(exception_of(all).attr("problems"))[0];
    };
    py::list items;
    for (const CheckItem& item : report.items) {
      items.append(py::make_tuple(text_of(item.name), item.required, item.available, text_of(item.effect),
                                  object_of(item.problem)));
    }
    py::list families;
    for (const FamilyState& each : report.families)
      families.append(py::make_tuple(text_of(to_string(each.family)), each.active, text_of(each.mechanism),
                                     object_of(each.problem)));
    return py::make_tuple(items, families);
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
