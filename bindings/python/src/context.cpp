// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/context_fields.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

std::string word_of(py::handle value, const std::string& name) {
  if (!py::isinstance<py::str>(value))
    throw py::type_error(fmt::format("{} is a text, not {}", name, Py_TYPE(value.ptr())->tp_name));
  return bytes_of(value);
}

std::vector<Label> labels_of(py::handle mapping) {
  std::vector<Label> labels;
  for (const auto item : py::reinterpret_borrow<py::object>(mapping).attr("items")()) {
    const auto pair = py::reinterpret_borrow<py::tuple>(item);
    labels.push_back({word_of(pair[0], "the name of a label"), word_of(pair[1], "a label")});
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

Context context_of(py::handle fields) {
  Context context;
  if (fields.is_none()) return context;
  for (const auto& [key, value] : py::cast<py::dict>(fields)) {
    const std::string name = py::cast<std::string>(key);
    if (value.is_none()) continue;
    const auto field = std::find_if(internal::kContextFields.begin(), internal::kContextFields.end(),
                                    [&](const internal::ContextField& each) { return each.name == name; });
    if (field != internal::kContextFields.end()) {
      context.*(field->value) = word_of(value, name);
    } else if (name == "attempt") {
      context.attempt = py::cast<std::uint32_t>(value);
    } else if (name == "labels") {
      context.labels = labels_of(value);
    } else {
      throw py::type_error(fmt::format("a context has no {}", name));
    }
  }
  return context;
}

}  // namespace tracer::python
