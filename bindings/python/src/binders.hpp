// SPDX-License-Identifier: Apache-2.0
/// What each file of this folder adds to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace tracer::python {

void bind_errors(pybind11::module_& module);
void bind_events(pybind11::module_& module);
void bind_queue(pybind11::module_& module);
void bind_callback(pybind11::module_& module);
void bind_session(pybind11::module_& module);
void bind_recording(pybind11::module_& module);
void bind_run(pybind11::module_& module);
void bind_check(pybind11::module_& module);
void bind_tables(pybind11::module_& module);
void bind_gathered_tables(pybind11::module_& module);
void bind_labels(pybind11::module_& module);
void bind_report(pybind11::module_& module);
void bind_state(pybind11::module_& module);
void bind_compare(pybind11::module_& module);
void bind_log(pybind11::module_& module);

}  // namespace tracer::python
