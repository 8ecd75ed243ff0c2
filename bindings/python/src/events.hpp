// SPDX-License-Identifier: Apache-2.0
/// Python objects of events and their parts: instances of the classes of _events.py, whose slots are the fields of the
/// schema, in its order and with JSON's shapes.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <span>

#include <tracer/event.hpp>
#include <tracer/host.hpp>
#include <tracer/statistics.hpp>

namespace tracer::python {

/// Makes objects; what events share is made once by each maker. Needs the GIL. Not thread-safe: one for each call.
class ObjectMaker {
 public:
  ObjectMaker();
  ~ObjectMaker();

  /// None for an empty handle.
  pybind11::object event(const Event& event);
  pybind11::list events(std::span<const Event> events);
  pybind11::object totals(const ContextTotals& totals);
  pybind11::object context(const Context& context);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

pybind11::object object_of(const HostInfo& host);

}  // namespace tracer::python
