// SPDX-License-Identifier: Apache-2.0
/// Reading what recording_sink() wrote. The format is in docs/recording-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/host.hpp>

namespace tracer {

namespace internal {
struct RecordingAccess;
}  // namespace internal

/// The parts of a recording that could not be read.
struct RecordingDamage {
  std::uint64_t skipped_bytes = 0;   ///< In frames that are cut, fail their checksum or break a rule of the format.
  std::uint64_t skipped_events = 0;  ///< In intact frames: of newer kinds, or larger than their bytes may hold.
  std::uint64_t missing_frames = 0;  ///< By their numbers; a damaged frame is among them.
  int read_error = 0;                ///< errno of the read that failed: nothing after it was read. 0: none failed.
  bool truncated = false;            ///< No SessionEnd, and no sign of a next file: cut short.

  bool any() const noexcept {
    return skipped_bytes != 0 || skipped_events != 0 || missing_frames != 0 || read_error != 0 || truncated;
  }
};

/// Reads the events of a recording in their order, frame by frame, in bounded memory. A recording is one file, or the
/// files that a session cut it into: see open_recordings(). Not thread-safe.
class TRACER_EXPORT RecordingReader {
 public:
  /// Throws Error: kFileUnreadable, kNotARecording, kOlderSchema, kNewerSchema, kCorruptRecording.
  explicit RecordingReader(const std::filesystem::path& file);
  /// Takes over an open file descriptor, which may be a pipe; `name` is for messages only. Throws as above.
  RecordingReader(int file_descriptor, std::string name);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;

  const HostInfo& host() const noexcept;
  /// The number of the first file in a rotated recording, from 1; HostInfo::session_id is the same in all.
  std::uint64_t part() const noexcept;
  /// The number of the first file among all of its session, from 1: over restarts, SIGHUP and age. Absent: an earlier
  /// version has written it, which did not count.
  std::optional<std::uint64_t> number() const noexcept;
  /// Whose events these are, where a service records by owner. Absent: of all.
  std::optional<std::uint32_t> owner_uid() const noexcept;
  /// When the last frame that was read was closed, in Unix time. Absent: none was read yet.
  std::optional<std::uint64_t> closed_unix_ns() const noexcept;
  /// next() and read() give events of these kinds only, and do not decode others: for a look at a large recording. To
  /// be called before them.
  void keep_only(std::span<const EventKind> kinds);
  /// The next event; absent at the end. Damage is skipped and counted.
  std::optional<Event> next();
  /// Fills `events` from the front and returns their number: 0 only at the end, or if `events` is empty. One call
  /// returns at most 32 MiB plus one event, by Event::charge_bytes(): therefore it may return fewer than there is room
  /// for, because many events may refer to one large part.
  std::size_t read(std::span<Event> events);
  /// Final once next() has returned absent, or read() 0.
  RecordingDamage damage() const noexcept;

 private:
  friend internal::RecordingAccess;
  class Impl;
  explicit RecordingReader(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// Opens recordings by their files, and by folders, of which all files that are recordings are taken. The files of one
/// session are one recording, whatever the order: they are read in the order in which they were written, what lives
/// where one ends starts once, and a file that is named twice is read once. What a missing file had is a Loss with the
/// cause "recording_missing_part". Sessions come in the order in which they are named. Throws as RecordingReader, and
/// kFileUnreadable for a pipe beside other files of its session.
TRACER_EXPORT std::vector<RecordingReader> open_recordings(const std::vector<std::filesystem::path>& files);
/// Likewise, of one session. Throws kInvalidArgument if there are several.
TRACER_EXPORT RecordingReader open_recording(const std::vector<std::filesystem::path>& files);

}  // namespace tracer
