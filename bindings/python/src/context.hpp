// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <tracer/context.hpp>

namespace tracer::python {

/// From a dict with any of pipeline, run, step, sample, task, task_id, engine (str or None), attempt (int or None) and
/// labels (a mapping of str to str, or None); raises TypeError for other types, and names what it does not know. Needs
/// the GIL.
Context context_of(pybind11::handle fields);

}  // namespace tracer::python
