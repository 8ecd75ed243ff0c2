// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <exception>
#include <string>

#include "binders.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

/// Text of files, paths and the kernel may hold any bytes.
py::str text_of(const std::string& bytes) {
  PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

}  // namespace

py::object exception_of(std::span<const Problem> problems) {
  py::list parts;
  for (const Problem& problem : problems)
    parts.append(py::make_tuple(static_cast<int>(problem.code), problem.error_number, text_of(problem.what),
                                text_of(problem.fix), text_of(problem.detail)));
  return py::module_::import("tracer._errors").attr("error_of")(parts);
}

void set_exception(std::span<const Problem> problems) {
  const py::object exception = exception_of(problems);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

void bind_errors(py::module_& /*module*/) {
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_exception(error.problems());
    }
  });
}

}  // namespace tracer::python
