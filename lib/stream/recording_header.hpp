// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/host.hpp>

#include "stream/event_codec.hpp"

namespace tracer {

/// Grows when an old reader would misread a new file; an appended field or kind is no such change.
inline constexpr std::uint64_t kRecordingSchema = 1;

/// The first frame of a recording.
struct RecordingHeader {
  std::uint64_t schema = kRecordingSchema;
  HostInfo host;
  EventSchema events;
};

void pack_header(msgpack::sbuffer& out, const RecordingHeader& header);
/// Absent: not a header. Fields that this version does not know are passed over.
std::optional<RecordingHeader> unpack_header(const msgpack::object& object);

}  // namespace tracer
