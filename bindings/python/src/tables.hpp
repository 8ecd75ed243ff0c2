// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <tracer/table.hpp>

namespace tracer::python {

/// A `tracer._core.HeldBatch` of what `builder` has gathered; the builder is empty then. Needs the GIL.
pybind11::object batch_of(TableBuilder& builder, Table table);

/// The table that is named so. Throws Error(kInvalidArgument).
Table table_named(std::string_view name);

}  // namespace tracer::python
