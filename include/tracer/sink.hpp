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

/// Writes events somewhere, on a thread of its own that the session gives it: all signals are blocked there, and of
/// capabilities it has CAP_SETUID and CAP_SETGID at most. Nothing may throw out of it: what goes wrong is kept in
/// problem(), and the sink is quiet from then on; what it has written stays.
class TRACER_EXPORT Sink {
 public:
  virtual ~Sink() = default;
  /// The next events, in their order. May block: other subscribers don't wait for it.
  virtual void write(std::span<const Event> events) noexcept = 0;
  /// Called at the start, every flush_period() while there is something new, for SinkHandle::flush(), and at the end.
  virtual void flush() noexcept = 0;
  virtual std::chrono::milliseconds flush_period() const noexcept { return std::chrono::seconds(1); }
  /// What stopped it, such as a full disk; absent while all is well. From any thread.
  virtual std::optional<Problem> problem() const = 0;
};

/// A sink of a session, as its owner sees it. May outlive the session. Thread-safe.
class TRACER_EXPORT SinkHandle {
 public:
  explicit SinkHandle(std::shared_ptr<internal::SinkRunner> runner) noexcept;

  /// What stopped the sink, or that it was left behind: Session::stop() waits for it for two seconds at most. Absent
  /// while all is well.
  std::optional<Problem> problem() const;
  /// Waits until the sink has written and flushed all that was delivered before the call, and what its file begins
  /// with; Session::flush() comes first where it should be all that happened. False: the sink has a problem(),
  /// `timeout` passed, or `go_on` said so; a negative timeout waits without a limit. `go_on` is asked on the calling
  /// thread, with no lock held, every 50 ms at least; what it throws comes out. Throws Error(kInCallback) on the sink's
  /// own thread.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on = {});
  /// The sink gets nothing more, writes what it has got, and is destroyed, its file closed; waits for that for two
  /// seconds at most. The session forgets it. Returns problem(). Throws Error(kInCallback) on the sink's own thread.
  std::optional<Problem> close();
  /// Events that it did not get, as its queue was full; a Loss with the cause "queue_full" stands where they are
  /// missing.
  std::uint64_t dropped() const noexcept;

 private:
  std::shared_ptr<internal::SinkRunner> runner_;
};

/// How large a sink's file may grow, and what comes then.
struct OutputLimit {
  static constexpr std::uint64_t kLeastBytes = 1u << 20;

  /// Of each file; less than kLeastBytes counts as that. 0: as much as there is room for.
  std::uint64_t max_bytes = 0;
  /// Gives the descriptor of an empty file in which to go on, by which the sink's name for it stays true, or -1 and
  /// errno. Called on the sink's thread when the next piece has no room. Each file can be read by itself. Without it
  /// the sink stops there with a problem(); it then ends the file with the number of events that are not in it, and
  /// SessionEnd.
  std::function<int()> next_file = {};
  /// Gives the descriptor of a file in which to go on where this one can't be written any more, as on a full disk, or
  /// -1: the first `whole_bytes` of this one are whole, and are to be in that one, too. Called once, on the sink's
  /// thread. problem() says what happened all the same.
  std::function<int(std::uint64_t whole_bytes)> rescue = {};
};

/// Writes a recording (docs/recording-format.md). A new file is for its owner only; one that exists is cut, and
/// keeps its mode. Links are followed, also by root: where others may write to the folder, open it with open_as().
/// Throws Error(kFileUnwritable).
TRACER_EXPORT std::unique_ptr<Sink> recording_sink(const std::filesystem::path& file, const HostInfo& host);

/// Takes over an open file descriptor; `name` is for messages only.
TRACER_EXPORT std::unique_ptr<Sink> recording_sink(int file_descriptor, std::string name, const HostInfo& host,
                                                   OutputLimit limit = {});

/// Writes one JSON object a line: the host, then each event. Throws Error(kFileUnwritable).
TRACER_EXPORT std::unique_ptr<Sink> json_sink(const std::filesystem::path& file, const HostInfo& host);
TRACER_EXPORT std::unique_ptr<Sink> json_sink(int file_descriptor, std::string name, const HostInfo& host,
                                              OutputLimit limit = {});

}  // namespace tracer
