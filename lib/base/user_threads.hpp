// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace tracer::internal {

/// Does things for users on threads of its own, whose priority is ordinary, whatever that of this process is: the
/// things of one user one after the other, within the CPU time of CpuShares. Users take turns. What hangs or takes long
/// holds up its own user alone, as long as fewer users than there may be threads have such. Any thread.
class UserThreads {
 public:
  using Job = std::function<void()>;

  explicit UserThreads(std::size_t most_threads);
  /// Drops what has not begun. Waits a moment for what has: where that hangs, the thread ends when it does.
  ~UserThreads();
  UserThreads(const UserThreads&) = delete;
  UserThreads& operator=(const UserThreads&) = delete;

  /// `job` owns all that it uses: it may outlive this. While no thread can be made, it waits for the next call of add()
  /// or retry().
  void add(uid_t user, Job job);
  /// Makes threads that could not be made before. Costs nothing where none is missing.
  void retry();

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);
  void start_missing();

  std::shared_ptr<State> state_;
};

}  // namespace tracer::internal
