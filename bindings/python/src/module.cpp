// SPDX-License-Identifier: Apache-2.0
/// The module tracer._core: thin classes, which the package's typed Python wraps.
#include <pybind11/pybind11.h>

#include <tracer/version.hpp>

#include "binders.hpp"

PYBIND11_MODULE(_core_in_main, module, pybind11::mod_gil_not_used()) {
  module.doc() = "The binary part of the package; use the package's own names.";
  module.attr("version") = TRACER_VERSION;
  tracer::python::bind_errors(module);
  tracer::python::bind_events(module);
  tracer::python::bind_queue(module);
  tracer::python::bind_callback(module);
  tracer::python::bind_session(module);
  tracer::python::bind_recording(module);
  tracer::python::bind_run(module);
  tracer::python::bind_check(module);
  tracer::python::bind_tables(module);
  tracer::python::bind_gathered_tables(module);
  tracer::python::bind_labels(module);
  tracer::python::bind_report(module);
  tracer::python::bind_state(module);
  tracer::python::bind_compare(module);
  tracer::python::bind_log(module);
}

/// There is no state for each interpreter: a sub-interpreter is refused. Here, as before Python 3.12 pybind11 waits
/// forever in one.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit__core_in_main();
  PyErr_SetString(PyExc_ImportError, "tracer can't be used in a sub-interpreter: import it in the main interpreter");
  return nullptr;
}
