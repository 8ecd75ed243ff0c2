// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <tracer/session.hpp>

namespace tracer::python {

/// From keywords, as in _session.py; None stands for the default. Raises TypeError for another type or an unknown name,
/// InvalidArgumentError for a value. Needs the GIL.
SessionOptions options_of(const pybind11::dict& keywords);

}  // namespace tracer::python
