// SPDX-License-Identifier: Apache-2.0
/// Queues of events that the caller reads at its own pace: for work that is too slow for a callback.
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

/// The behavior of a full queue.
enum class WhenFull : std::uint8_t {
  kDropOldest,
  /// The session's own thread waits for the queue's reader: nothing is lost, but all other subscribers wait as well.
  /// Meant for replays; in a live session, the kernel's ring fills meanwhile. From the session's end on (stop(),
  /// request_stop()), and with ReaderMode::kPoll, the queue drops the oldest instead.
  kWait,
};

struct QueueOptions {
  std::vector<EventKind> kinds = {};  ///< Only these kinds; empty: all. Loss always comes. An unknown kind is an error.
  bool session_end = true;            ///< SessionEnd comes even if `kinds` does not name it.
  /// The most that waits at one time, by Event::charge_bytes(): each event is charged in full for shared parts, so the
  /// real use of memory is less. At least 1.
  std::size_t capacity_bytes = 64u << 20;
  WhenFull when_full = WhenFull::kDropOldest;
  /// First delivers RunStart, TaskStart and ProcessStart of everything that is followed and lives when the queue joins,
  /// with their original times and the context known by now; then all new events. Has no effect for recordings and
  /// FakeSources.
  bool living_first = false;
};

/// A bounded queue of a session's events for one consumer. When it is full, it drops the oldest event, unless
/// QueueOptions::when_full says otherwise; one Loss with the cause "queue_full", with counts by kind, takes the place
/// of missing events. The last event is SessionEnd, which always has room; a session that was never started and a
/// recording that was cut short have none. May outlive the session, which ends it. Thread-safe, but threads that read
/// at the same time share the events among them.
class TRACER_EXPORT Queue {
 public:
  explicit Queue(std::shared_ptr<internal::QueueState> state) noexcept;
  Queue(Queue&&) noexcept;
  Queue& operator=(Queue&&) noexcept;
  /// The session stops filling it.
  ~Queue();

  /// Takes the oldest events, at most out.size(), and does not wait. Returns their number.
  std::size_t read(std::span<Event> out);
  /// Waits for something to read, or the end. False: `timeout` passed. A negative timeout waits without a limit. With
  /// ReaderMode::kPoll, it drives the session meanwhile, as Session::poll() does. Throws Error(kInCallback) inside a
  /// callback of its session, during which no event would come.
  bool wait(std::chrono::milliseconds timeout);
  /// Readable while there is something to read, and from the end on. Owned by the queue; -1 never occurs.
  int fd() const noexcept;
  /// Takes effect from now on. Any thread.
  void set_when_full(WhenFull when_full) noexcept;
  /// True if nothing is left to read, and nothing will come: the session has ended, or was destroyed.
  bool ended() const noexcept;
  /// The number of events that were dropped because the queue was full. Any thread.
  std::uint64_t dropped() const noexcept;

 private:
  std::shared_ptr<internal::QueueState> state_;
};

}  // namespace tracer
