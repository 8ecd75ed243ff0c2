// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace tracer::internal {

/// Does one thing after the other on a thread of its own: for file systems, which may hang, and must not hold up the
/// events. Used by one thread.
class SideThread {
 public:
  SideThread();
  /// Drops what has not begun. Waits a moment for what has: where that hangs, the thread ends when it does.
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  /// Starts the thread if it is the first. `job` owns all that it uses: it may outlive this. Throws Error(kNoMemory).
  void add(std::function<void()> job);
  /// Nothing waits or runs.
  bool is_idle() const;

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::thread thread_;  ///< Since the first job.
};

}  // namespace tracer::internal
