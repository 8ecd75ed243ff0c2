// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/subscription.hpp>

namespace tracer::internal {

/// One callback and the promise of its Subscription: once canceled it does not run, and is not running elsewhere.
class Subscriber {
 public:
  using Callback = std::function<void(const Event&)>;

  explicit Subscriber(Callback callback) : callback_(std::move(callback)) {}

  /// Runs the callback unless it was canceled. Rethrows nothing: what it threw is returned.
  std::exception_ptr run(const Event& event) noexcept;
  /// Lets go of the callback, too: here, or when it has returned where this is called inside it.
  void cancel() noexcept;
  bool active() const noexcept { return active_.load(); }

 private:
  Callback callback_;
  int depth_ = 0;  ///< Of calls that are in it.
  std::atomic<bool> active_{true};
  std::recursive_mutex running_;  ///< Held while the callback runs; recursive, so that it may cancel itself.
};

/// Hands each event to those callbacks that asked for its kind, in the order of subscribing.
class Dispatcher {
 public:
  explicit Dispatcher(std::function<void(std::exception_ptr)> on_error) : on_error_(std::move(on_error)) {}

  /// From any thread. Without a kind: for all events.
  Subscription subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback);
  /// Likewise, of a subscriber whose subscription() was given out before. `first`: the callback runs for these before.
  void add(std::optional<EventKind> kind, std::shared_ptr<Subscriber> subscriber, std::span<const Event> first = {});
  /// Whoever holds it decides how long the callback is called.
  static Subscription subscription(std::shared_ptr<Subscriber> subscriber) noexcept;
  /// One thread at a time.
  void dispatch(const Event& event) noexcept;
  std::uint64_t callback_errors() const noexcept { return callback_errors_.load(); }

 private:
  using Subscribers = std::vector<std::shared_ptr<Subscriber>>;
  struct Entry {
    std::optional<EventKind> kind;
    std::shared_ptr<Subscriber> subscriber;
  };
  /// Never changed once it is made.
  struct Lists {
    std::vector<Entry> all;
    std::map<EventKind, Subscribers> by_kind;  ///< Only kinds that somebody named.
    Subscribers any;                           ///< For kinds that nobody named.
    const Subscribers& of(EventKind kind) const;
  };
  static std::shared_ptr<const Lists> with(const Lists& before, Entry entry);
  void run(Subscriber& subscriber, const Event& event) noexcept;

  std::function<void(std::exception_ptr)> on_error_;
  std::mutex mutex_;  ///< Protects the pointer.
  std::shared_ptr<const Lists> lists_ = std::make_shared<Lists>();
  std::atomic<std::uint64_t> callback_errors_{0};
};

}  // namespace tracer::internal
