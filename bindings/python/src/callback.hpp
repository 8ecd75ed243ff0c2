// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include <tracer/event_kind.hpp>
#include <tracer/session.hpp>

#include "of_process.hpp"

namespace tracer::python {

/// A callback that a session calls on its own thread, with the GIL.
class HeldSubscription {
 public:
  explicit HeldSubscription(Subscription subscription) : subscription_(std::move(subscription)) {}
  /// Waits for a running call. With or without the GIL.
  ~HeldSubscription();
  HeldSubscription(const HeldSubscription&) = delete;
  HeldSubscription& operator=(const HeldSubscription&) = delete;
  /// Waits for a running call. Without the GIL. Nothing happens in a child made by fork.
  void cancel() noexcept {
    if (!subscription_.is_foreign()) subscription_.get().cancel();
  }
  bool active() const noexcept { return !subscription_.is_foreign() && subscription_.get().active(); }

 private:
  OfProcess<Subscription> subscription_;
};

/// Absent: events of all kinds. What the callback raises goes to sys.unraisablehook, and is counted in
/// Statistics::callback_errors. Needs the GIL.
std::unique_ptr<HeldSubscription> subscribe(const std::shared_ptr<Session>& session, std::optional<EventKind> kind,
                                            bool living_first, pybind11::function callback);

}  // namespace tracer::python
