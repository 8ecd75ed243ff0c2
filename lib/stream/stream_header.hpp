// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <tracer/host.hpp>

#include "stream/bytes.hpp"

namespace tracer::internal {

/// Grows when an old reader would misread a new stream; an appended field, kind or part is no such change.
inline constexpr std::uint64_t kStreamSchema = 2;

/// The first frame of a stream. It also lists all fields that the writer knows, for readers that know fewer.
struct StreamHeader {
  std::uint64_t schema = kStreamSchema;
  std::uint64_t part = 1;  ///< Which of the streams that a writer has written one after another.
  /// Which of all files of the session, from 1, also over restarts; 0: an earlier writer, which did not count them.
  std::uint64_t number = 0;
  std::uint64_t previous_frames = 0;  ///< So many frames the file before it has, the header among them; 0: not known.
  /// Of a service's recording of one user: whose it is. Absent: not of one.
  std::optional<std::uint32_t> owner_uid = {};
  HostInfo host;
  bool knows_findings = false;  ///< The writer could have written findings.
};

void put_header(Bytes& out, const StreamHeader& header);
/// Absent: not a header. What this version does not know is passed over.
std::optional<StreamHeader> take_header(std::span<const std::byte> payload);

}  // namespace tracer::internal
