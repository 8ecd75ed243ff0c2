// SPDX-License-Identifier: Apache-2.0
/// The module tracer._core: thin classes, which the package's typed Python wraps.
#include <pybind11/pybind11.h>

#include <tracer/version.hpp>

#include "binders.hpp"

// Without per-interpreter state: a sub-interpreter is refused with ImportError.
PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
  // Before 3.12 nobody else refuses.
  if (PyInterpreterState_Get() != PyInterpreterState_Main())
    throw pybind11::import_error("tracer can't be used in a sub-interpreter: import it in the main interpreter");
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
  tracer::python::bind_labels(module);
  tracer::python::bind_report(module);
}
