// SPDX-License-Identifier: Apache-2.0
/// Events in C: a tracer_event is a tracer::Event, by another name.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "guard.hpp"

namespace tracer::c {

inline const tracer_event* handle_of(const Event& event) noexcept {
  return reinterpret_cast<const tracer_event*>(&event);
}
inline const Event& event_of(const tracer_event& handle) noexcept { return reinterpret_cast<const Event&>(handle); }
inline tracer_event* new_handle(Event event) { return reinterpret_cast<tracer_event*>(new Event(std::move(event))); }

}  // namespace tracer::c

struct tracer_event_buffer {
  std::vector<tracer::Event> events;  ///< All that there is room for.
  std::size_t count = 0;              ///< The first of them are filled.

  /// For another read. As many as `max` asks for; throws Refusal for more than there is room for.
  std::span<tracer::Event> room(std::size_t max);
};
