// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include <tracer/event_kind.hpp>
#include <tracer/queue.hpp>

#include "of_process.hpp"

namespace tracer::python {

/// By its name, as in dumps. Raises InvalidArgumentError, TypeError.
EventKind kind_of(pybind11::handle name);
/// Likewise, of a collection.
std::vector<EventKind> kinds_of(const pybind11::object& names);

/// A queue of a session; left as it is in a child made by fork.
class HeldQueue {
 public:
  explicit HeldQueue(Queue queue) : queue_(std::move(queue)) {}

  Queue& get() const { return queue_.get(); }

 private:
  OfProcess<Queue> queue_;
};

}  // namespace tracer::python
