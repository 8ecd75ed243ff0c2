// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/host.hpp>

namespace tracer {

namespace internal {
class SinkRunner;
}  // namespace internal

/// Writes events, on its own thread that the session creates: all signals are blocked there, and it has at most the
/// capabilities CAP_SETUID and CAP_SETGID. No method may throw: a sink that fails keeps the error in problem(), and
/// writes nothing more; the data that it has written stays.
class TRACER_EXPORT Sink {
 public:
  virtual ~Sink() = default;
  /// Writes the next events, in their order. May block: other subscribers don't wait for it.
  virtual void write(std::span<const Event> events) noexcept = 0;
  /// The session calls it at the start, every flush_period() while there are new events, for SinkHandle::flush(), and
  /// at the end.
  virtual void flush() noexcept = 0;
  virtual std::chrono::milliseconds flush_period() const noexcept { return std::chrono::seconds(1); }
  /// The problem that stopped it, such as a full disk; absent while all is well. Any thread.
  virtual std::optional<Problem> problem() const = 0;
};

/// The owner's handle of a session's sink. May outlive the session. Thread-safe.
class TRACER_EXPORT SinkHandle {
 public:
  explicit SinkHandle(std::shared_ptr<internal::SinkRunner> runner) noexcept;

  /// The problem that stopped the sink, or that it was given up: Session::stop() waits for it for at most two seconds.
  /// Absent while all is well.
  std::optional<Problem> problem() const;
  /// Waits until the sink has written and flushed all events that were delivered before the call, and the head of its
  /// file; call Session::flush() first to include everything that happened. Returns false if the sink has a problem(),
  /// `timeout` passed, or `go_on` returned false; a negative timeout waits without a limit. It calls `go_on` on the
  /// calling thread, with no lock held, at least every 50 ms; exceptions of `go_on` pass through. Throws
  /// Error(kInCallback) on the sink's own thread.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on = {});
  /// Gives the sink no more events, lets it write the events in its queue, closes its file and destroys it; waits for
  /// that for at most two seconds. The session forgets the sink. Returns problem(). Throws Error(kInCallback) on the
  /// sink's own thread.
  std::optional<Problem> close();
  /// The number of events that it did not get because its queue was full; a Loss with the cause "queue_full" takes
  /// their place.
  std::uint64_t dropped() const noexcept;

 private:
  std::shared_ptr<internal::SinkRunner> runner_;
};

/// Where the recording of a session stands. Not thread-safe.
struct RecordingPlace {
  std::uint64_t number = 0;  ///< Of the last file, from 1; 0: there is none.
  std::uint64_t frames = 0;  ///< In that file.
};

/// The maximum size of a sink's file, and what the sink does when it is reached.
struct OutputLimit {
  static constexpr std::uint64_t kLeastBytes = 1u << 20;

  /// The size of each file; values below kLeastBytes count as kLeastBytes. 0: no limit.
  std::uint64_t max_bytes = 0;
  /// Returns the descriptor of an empty file in which to continue, which has the sink's name from then on, or -1 and
  /// errno. Called on the sink's thread when the next piece has no room. Each file can be read by itself. Without this
  /// function, the sink stops there with a problem(), and ends the file with the number of events that are not in it,
  /// and SessionEnd.
  std::function<int()> next_file = {};
  /// Returns the descriptor of a file in which to continue if this one can't be written anymore, such as on a full
  /// disk, or -1. The first `whole_bytes` of this file are intact, and must be in that one, too. Called once, on the
  /// sink's thread. problem() still reports the failure.
  std::function<int(std::uint64_t whole_bytes)> rescue = {};
  /// Of recordings: where earlier sinks of this session have come to. The sink goes on behind it, keeps it up to date
  /// until it is destroyed, and has the disk keep each file before it leaves it (fsync). Null: its first file is the
  /// session's first.
  std::shared_ptr<RecordingPlace> place = {};
};

/// Writes a recording (docs/recording-format.md). A new file is for its owner only; an existing one is truncated, and
/// keeps its mode. Links are followed, also by root: if others may write to the folder, open the file with open_as().
/// Throws Error(kFileUnwritable).
TRACER_EXPORT std::unique_ptr<Sink> recording_sink(const std::filesystem::path& file, const HostInfo& host);

/// Takes over an open file descriptor; `name` is for messages only.
TRACER_EXPORT std::unique_ptr<Sink> recording_sink(int file_descriptor, std::string name, const HostInfo& host,
                                                   OutputLimit limit = {});

/// Writes one JSON object per line: the host, then each event. Throws Error(kFileUnwritable).
TRACER_EXPORT std::unique_ptr<Sink> json_sink(const std::filesystem::path& file, const HostInfo& host);
TRACER_EXPORT std::unique_ptr<Sink> json_sink(int file_descriptor, std::string name, const HostInfo& host,
                                              OutputLimit limit = {});

}  // namespace tracer
