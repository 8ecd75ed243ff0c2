// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "base/user_threads.hpp"

namespace tracer::internal {

/// Does one thing after the other on a thread of its own: for file systems, which may hang, and must not hold up the
/// events.
class SideThread {
 public:
  /// As UserThreads::add().
  void add(std::function<void()> job) { threads_.add(0, std::move(job)); }

 private:
  UserThreads threads_{1};
};

}  // namespace tracer::internal
