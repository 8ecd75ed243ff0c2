// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

std::string bytes_of(py::handle text) {
  auto path = py::reinterpret_steal<py::object>(PyOS_FSPath(text.ptr()));
  if (!path) throw py::error_already_set();
  if (PyUnicode_Check(path.ptr())) {
    path = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(path.ptr(), "utf-8", "surrogateescape"));
    if (!path) throw py::error_already_set();
  }
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(path.ptr(), &data, &size) != 0) throw py::error_already_set();
  return {data, static_cast<std::size_t>(size)};
}

std::optional<std::string> maybe_bytes_of(py::handle text) {
  if (text.is_none()) return std::nullopt;
  return bytes_of(text);
}

}  // namespace tracer::python
