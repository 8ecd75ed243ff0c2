// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/queue.hpp>
#include <tracer/sink.hpp>

#include "base/counter.hpp"
#include "dispatch/dispatcher.hpp"
#include "dispatch/queue_state.hpp"
#include "dispatch/sink_runner.hpp"

namespace tracer::internal {

/// All that a session's events go to: queues, sinks and callbacks. Adding is possible from any thread and at any time;
/// a late subscriber gets what lives, where it has asked for that, and what comes from then on.
class Outlets {
 public:
  explicit Outlets(std::function<void(std::exception_ptr)> on_error) : dispatcher_(std::move(on_error)) {}

  Dispatcher& dispatcher() noexcept { return dispatcher_; }
  const Dispatcher& dispatcher() const noexcept { return dispatcher_; }
  /// `first`: what it gets before all else.
  void add(std::shared_ptr<QueueState> queue, std::span<const Event> first = {});
  void add(std::shared_ptr<SinkRunner> sink, std::span<const Event> first = {});

  /// Queues first: they don't wait for callbacks. One thread at a time. Returns the number of queues that had no memory
  /// for the events.
  std::size_t deliver(std::span<const Event> events) noexcept;
  /// Until sinks have taken what they were given, or that time: so that what comes next needs no room beside it.
  void wait_for_sinks(std::chrono::steady_clock::time_point until) noexcept;
  /// No queue is waited for from now on. Safe in signal handlers.
  void hurry() noexcept { hurry_.store(true); }
  /// Nothing will be delivered any more.
  void end() noexcept;
  /// Waits for all sinks, for two seconds in all.
  void finish_sinks() noexcept;

  // From any thread.
  std::uint64_t events() const noexcept { return events_.value(); }
  std::uint64_t sinks_cpu_ns() const;

 private:
  std::vector<std::shared_ptr<QueueState>> queues();
  std::vector<std::shared_ptr<SinkRunner>> sinks() const;
  std::size_t push(std::span<const Event> events, std::uint64_t newest) noexcept;

  Dispatcher dispatcher_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<QueueState>> queues_;  ///< Those of sinks, too.
  std::vector<std::shared_ptr<SinkRunner>> sinks_;
  std::uint64_t closed_cpu_ns_ = 0;  ///< Of sinks that were closed.
  bool ended_ = false;
  std::atomic<bool> hurry_{false};
  std::atomic<std::uint64_t> added_{0};
  std::mutex finishing_;
  Counter events_;
};

}  // namespace tracer::internal
