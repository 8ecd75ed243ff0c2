// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tracer/export.hpp>

namespace tracer {

namespace internal {
class Subscriber;
class Dispatcher;
}  // namespace internal

/// Keeps a callback subscribed for as long as it lives. Move-only. After destruction or cancel() the callback is not
/// running and never runs again; they wait for a running one to return, except when called from inside that callback
/// itself, which is allowed. The callback object has been destroyed by then, with no lock held; if a callback cancels
/// itself, it is destroyed after it has returned. May outlive the session.
class TRACER_EXPORT Subscription {
 public:
  Subscription() noexcept = default;
  Subscription(Subscription&& other) noexcept;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();

  void cancel() noexcept;
  bool active() const noexcept;

 private:
  friend class internal::Dispatcher;
  explicit Subscription(std::shared_ptr<internal::Subscriber> subscriber) noexcept;
  std::shared_ptr<internal::Subscriber> subscriber_;
};

}  // namespace tracer
