// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>

#include "binders.hpp"

namespace tracer::python {

void bind_run(pybind11::module_& /*module*/) {}

}  // namespace tracer::python
