// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string_view>

#include <tracer/queue.hpp>

#include "base/wakeup.hpp"

namespace tracer::internal {

/// The cause of what a queue dropped.
inline constexpr std::string_view kQueueFull = "queue_full";

/// Throws Error(kInvalidArgument): there is no such kind.
void require_known(EventKind kind);

/// What a session and the holder of a Queue share. Any thread.
class QueueState {
 public:
  /// Whose events are told apart: when the queue is full, the user who holds most of it loses the oldest.
  using OwnerOf = std::function<uid_t(const Event& event)>;

  /// `owner_of`: empty: all events are one owner's. Throws Error: kInvalidArgument without capacity, kNoMemory without
  /// a descriptor.
  explicit QueueState(QueueOptions options, OwnerOf owner_of = {});

  bool wants(EventKind kind) const noexcept;
  /// Appends those events that it wants, with one wake-up for all. May wait for the reader, but not when `hurry` is
  /// set.
  void push(std::span<const Event> events, const std::atomic<bool>& hurry);
  /// Nothing will come after this.
  void end() noexcept;
  /// Nobody will read it again.
  void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  std::size_t read(std::span<Event> out) { return read(out, nullptr); }
  /// Also says how many of those that were pushed have left it by now, `out` included: read, or dropped and read as a
  /// Loss.
  std::size_t read(std::span<Event> out, std::uint64_t* left);
  /// How many events that it wants have come.
  std::uint64_t pushed() const;
  /// Has a wait() return, or the next one.
  void nudge() noexcept;
  /// False: it was nudged, or `timeout` passed.
  bool wait(std::chrono::milliseconds timeout);
  /// True: read() would give something, or nothing will ever come.
  bool ready() const;
  bool ended() const;
  int fd() const noexcept { return readable_.fd(); }
  std::uint64_t dropped() const;
  void set_when_full(WhenFull when_full) noexcept { when_full_.store(when_full); }

  /// What wait() waits with: returns at the latest when queue_fd is readable, and may read for a session that has no
  /// thread. Throws where waiting would never end. Empty from the session's end on.
  using Drive = std::function<void(std::chrono::milliseconds timeout, int queue_fd)>;
  void set_drive(Drive drive);

 private:
  /// What was dropped of an owner's events since the last read().
  struct Gap {
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::map<EventKind, std::uint64_t> by_kind;
  };
  struct Owner {
    std::size_t bytes = 0;
    std::deque<std::uint64_t> positions = {};     ///< Of events that wait: how many were pushed before each.
    std::shared_ptr<const Context> context = {};  ///< Of the last one: the next ones that share it pay nothing for it.
    std::size_t context_bytes = 0;
    Gap gap = {};
  };
  struct Waiting {
    Event event;  ///< Empty: it was dropped.
    uid_t owner = 0;
    std::size_t bytes = 0;
  };
  void wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t bytes, const std::atomic<bool>& hurry);
  void tell_reader() noexcept;
  static bool was_dropped(const Waiting& waiting) noexcept;
  std::size_t charge_of(const Event& event, Owner& owner) const;
  void drop_for_room();
  std::size_t take_gaps(std::span<Event> out);
  void pop_front();
  bool has_something() const { return !events_.empty() || gaps_ != 0; }
  void set_readable(bool readable) noexcept;

  const QueueOptions options_;
  const OwnerOf owner_of_;
  std::set<EventKind> wanted_;  ///< Empty: all.
  Wakeup readable_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable room_;  ///< Something was read.
  std::deque<Waiting> events_;    ///< The first was not dropped.
  std::map<uid_t, Owner> owners_;
  std::uint64_t pushed_ = 0;
  bool nudged_ = false;
  std::size_t charged_bytes_ = 0;
  std::size_t gaps_ = 0;  ///< Owners with one.
  std::uint64_t dropped_ = 0;
  bool is_readable_ = false;
  bool ended_ = false;
  std::shared_ptr<const Drive> drive_;
  std::atomic<bool> abandoned_{false};
  std::atomic<WhenFull> when_full_;
};

}  // namespace tracer::internal
