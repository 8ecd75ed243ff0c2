// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <optional>

#include <tracer/event.hpp>

#include "gil.hpp"
#include "insight/recorded_events.hpp"

namespace tracer::python {

/// All that there are now, without the GIL; signals are looked for in between. Needs the GIL.
template <class Into>
void add_events(internal::RecordedEvents& events, Into& into) {
  constexpr std::size_t kEventsBetweenLooks = 4096;  // Some milliseconds.
  for (bool more = true; more;) {
    {
      const ReleasedGil released;
      for (std::size_t i = 0; more && i < kEventsBetweenLooks; ++i) {
        const std::optional<Event> event = events.next();
        more = event.has_value();
        if (more) into.add(*event);
      }
    }
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }
}

}  // namespace tracer::python
