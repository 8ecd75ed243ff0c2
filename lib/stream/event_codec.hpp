// SPDX-License-Identifier: Apache-2.0
/// Events as msgpack arrays, whose fields the recording's header names.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include <tracer/event.hpp>

namespace tracer {

/// Per kind the names of its fields in the order of the arrays; those of a nested object as "object.field".
using EventSchema = std::map<std::uint16_t, std::vector<std::string>>;

/// Of the events of this version.
const EventSchema& event_schema();

/// Appends [kind, field, field …].
void pack_event(msgpack::sbuffer& out, const Event& event);

/// Reads arrays by the schema that a recording's header gave.
class EventUnpacker {
 public:
  explicit EventUnpacker(const EventSchema& schema);
  /// Absent: not an event, of a kind that this version does not know, or a field of a wrong type.
  std::optional<Event> unpack(const msgpack::object& object) const;

 private:
  /// For each of our fields, in our order, its place in the recording's arrays; 0: it has none.
  std::map<std::uint16_t, std::vector<std::size_t>> places_;
};

}  // namespace tracer
