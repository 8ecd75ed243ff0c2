// SPDX-License-Identifier: Apache-2.0
/// Reading what recording_sink() wrote. The format is in docs/recording-format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/host.hpp>

namespace tracer {

/// What a recording could not give back.
struct RecordingDamage {
  std::uint64_t skipped_bytes = 0;   ///< Of the file, in frames that are cut or fail their checksum.
  std::uint64_t skipped_events = 0;  ///< In good frames, but not understood (such as kinds of a newer libtracer).
  bool truncated = false;            ///< No SessionEnd: the writer was stopped, or the file's tail is missing.

  bool any() const noexcept { return skipped_bytes != 0 || skipped_events != 0 || truncated; }
};

/// Gives the events of a file in their order. Not thread-safe. Reads frame by frame, in bounded memory.
class TRACER_EXPORT RecordingReader {
 public:
  /// Throws Error: kFileUnreadable, kNotARecording, kNewerSchema, kCorruptRecording.
  explicit RecordingReader(const std::filesystem::path& file);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;

  const HostInfo& host() const noexcept;
  /// The next event; absent at the end. A damaged frame is skipped and counted.
  std::optional<Event> next();
  /// Final once next() has returned absent.
  const RecordingDamage& damage() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
