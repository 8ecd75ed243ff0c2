// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/subscription.hpp>

namespace tracer::internal {

/// One callback and the promise of its Subscription: once cancelled it does not run, and is not running elsewhere.
class Subscriber {
 public:
  explicit Subscriber(std::function<void(const Event&)> callback) : callback_(std::move(callback)) {}

  /// Runs the callback unless it was cancelled. Rethrows nothing: what it threw is returned.
  std::exception_ptr run(const Event& event) noexcept;
  void cancel() noexcept;
  bool active() const noexcept { return active_.load(); }

 private:
  std::function<void(const Event&)> callback_;
  std::atomic<bool> active_{true};
  std::recursive_mutex running_;  ///< Held while the callback runs; recursive, so that it may cancel itself.
};

/// Hands each event to each subscriber in the order of subscribing.
class Dispatcher {
 public:
  explicit Dispatcher(std::function<void(std::exception_ptr)> on_error) : on_error_(std::move(on_error)) {}

  /// From any thread.
  Subscription subscribe(std::function<void(const Event&)> callback);
  /// One thread at a time.
  void dispatch(const Event& event) noexcept;
  std::uint64_t callback_errors() const noexcept { return callback_errors_.load(); }

 private:
  using List = std::vector<std::shared_ptr<Subscriber>>;

  std::function<void(std::exception_ptr)> on_error_;
  std::mutex mutex_;  ///< Protects the pointer; the list itself is never changed.
  std::shared_ptr<const List> subscribers_ = std::make_shared<List>();
  std::atomic<std::uint64_t> callback_errors_{0};
};

}  // namespace tracer::internal
