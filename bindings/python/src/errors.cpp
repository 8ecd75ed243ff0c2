// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <exception>

#include "binders.hpp"
#include "of_process.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

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
    } catch (const SessionGone& gone) {
      const py::object exception =
          py::module_::import("tracer._errors").attr("SessionClosedError")(py::bool_(gone.forked()));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    }
  });
}

}  // namespace tracer::python
