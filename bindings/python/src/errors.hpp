// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include <tracer/error.hpp>

namespace tracer::python {

/// The package's exception for `problems`, whose first one gives the class. Needs the GIL.
pybind11::object exception_of(std::span<const Problem> problems);

/// Sets it as Python's current exception. Needs the GIL.
void set_exception(std::span<const Problem> problems);

}  // namespace tracer::python
