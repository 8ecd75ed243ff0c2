// SPDX-License-Identifier: Apache-2.0
/// Python objects of events and their parts: instances of the classes of _events.py, whose slots are the fields of the
/// schema, in its order and with JSON's shapes.
#pragma once

#include <pybind11/pybind11.h>

#include <span>

#include <tracer/event.hpp>
#include <tracer/host.hpp>
#include <tracer/statistics.hpp>

namespace tracer::python {

// All need the GIL, and throw pybind11::error_already_set.

/// None for an empty handle.
pybind11::object object_of(const Event& event);
/// What they share is made once.
pybind11::list objects_of(std::span<const Event> events);
pybind11::object object_of(const ContextTotals& totals);
pybind11::object object_of(const Context& context);
pybind11::object object_of(const HostInfo& host);
pybind11::object object_of(const TaskLedger& ledger);
pybind11::object object_of(const AwaitedTask& task);
pybind11::object object_of(const Requested& requested);

/// The same, for templates that take what makes objects.
struct ObjectMaker {
  pybind11::object event(const Event& event) const { return object_of(event); }
  pybind11::object context(const Context& context) const { return object_of(context); }
  template <class T>
  pybind11::object part(const T& part) const {
    return object_of(part);
  }
};

}  // namespace tracer::python
