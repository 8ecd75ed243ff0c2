// SPDX-License-Identifier: Apache-2.0
/// Events that wait for a reader of the caller's own: for what is too slow for a callback.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/export.hpp>

namespace tracer {

namespace internal {
class QueueState;
}  // namespace internal

/// What a full queue does.
enum class WhenFull : std::uint8_t {
  kDropOldest,
  /// The session's own thread waits for its reader: nothing is lost, and all that the session delivers to waits as
  /// well. For recordings that are replayed; in a live session the kernel's ring fills meanwhile. It drops the oldest
  /// from the session's end on (stop(), request_stop()), and with Reader::kPoll.
  kWait,
};

struct QueueOptions {
  std::vector<EventKind> kinds = {};  ///< Only these; empty: all. A Loss always comes. An unknown kind is an error.
  bool session_end = true;            ///< SessionEnd comes as well, although `kinds` does not name it.
  /// Most that waits at one time, as Event::charge_bytes() counts it: shared parts are charged in full to each event,
  /// so that less memory is used in fact. At least 1.
  std::size_t capacity_bytes = 64u << 20;
  WhenFull when_full = WhenFull::kDropOldest;
  /// First a RunStart, TaskStart and ProcessStart of all that is followed and lives when it joins, as they were when
  /// these began but with what is known by now; then all that comes. For sources other than the kernel: nothing.
  bool living_first = false;
};

/// A bounded queue of a session's events for one consumer. When it is full, the oldest event is dropped, unless
/// QueueOptions::when_full says otherwise; where events are missing, one Loss with the cause "queue_full" stands, with
/// counts by kind. The last event is SessionEnd, for which there is always room; a session that was never started and a
/// recording that was cut short have none. May outlive the session, which ends it. Thread-safe, but events are split
/// between threads that read at the same time.
class TRACER_EXPORT Queue {
 public:
  explicit Queue(std::shared_ptr<internal::QueueState> state) noexcept;
  Queue(Queue&&) noexcept;
  Queue& operator=(Queue&&) noexcept;
  /// The session stops filling it.
  ~Queue();

  /// Takes out the oldest events, at most out.size(), and does not wait. Returns how many.
  std::size_t read(std::span<Event> out);
  /// Waits for something to read, or the end. False: `timeout` passed. A negative timeout waits without a limit.
  /// With Reader::kPoll it drives the session meanwhile, as Session::poll() does. Throws Error(kInCallback) inside a
  /// callback of its session, while which nothing would come.
  bool wait(std::chrono::milliseconds timeout);
  /// Readable while there is something to read, and from the end on. Owned by the queue; -1 never occurs.
  int fd() const noexcept;
  /// From now on. From any thread.
  void set_when_full(WhenFull when_full) noexcept;
  /// Nothing is left to read, and nothing will come: the session has ended, or was destroyed.
  bool ended() const noexcept;
  /// Events that were dropped since it was full. From any thread.
  std::uint64_t dropped() const noexcept;

 private:
  std::shared_ptr<internal::QueueState> state_;
};

}  // namespace tracer
