// SPDX-License-Identifier: Apache-2.0
/// What a service (`tracerd serve`) has recorded of its users: with `[recordings] by_owner`, everybody reads their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tracer/export.hpp>
#include <tracer/recording.hpp>

namespace tracer {

/// A file of a recording that is open for reading.
struct RecordingDescriptor {
  int file_descriptor = -1;
  std::string name = {};  ///< For messages only.
};

/// As open_recordings() and open_recording(). They take the descriptors over, also if they throw; what else reads by
/// them is not disturbed.
TRACER_EXPORT std::vector<RecordingReader> open_recordings_by_descriptor(const std::vector<RecordingDescriptor>& files);
TRACER_EXPORT RecordingReader open_recording_by_descriptor(const std::vector<RecordingDescriptor>& files);

/// A file of what a service has recorded. Those with the same owner and session are one recording.
struct PastFile {
  RecordingDescriptor opened = {};  ///< The caller's to close.
  std::uint32_t owner_uid = 0;      ///< Whose it is. 0: it has what is nobody else's.
  std::string session_id = {};
  std::uint64_t number = 0;  ///< Among those of the recording, from 1.
  std::uint64_t bytes = 0;
  std::uint64_t written_unix_ns = 0;  ///< When last.
};

/// What the service has recorded that the caller may see, those that were written last first: own events, what
/// `[[share]]` shares, and for root all. `since_unix_ns`: without files that were written last before then. Throws
/// Error: kInvalidArgument if the service does not record by owner, kNoService, kPermission, kServiceRefused (one of an
/// earlier version; too few descriptors).
TRACER_EXPORT std::vector<PastFile> past(const std::filesystem::path& socket = "/run/tracer/tracer.sock",
                                         std::uint64_t since_unix_ns = 0);

}  // namespace tracer
