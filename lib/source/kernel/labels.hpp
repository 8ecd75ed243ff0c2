// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

struct lifecycle_bpf;

namespace tracer::internal {

/// What threads have said of the processes that they make: bpf/labels.h. Any thread.
class KernelLabels {
 public:
  explicit KernelLabels(lifecycle_bpf& skeleton) noexcept;

  /// What `tid` forks from now on has this context. Returns the label's serial. Throws Error(kInvalidArgument) where
  /// too many are open.
  std::uint64_t open(pid_t tid, std::uint32_t context_id);
  /// Nothing has it from now on; its thread has the innermost label again that was around it and is open, unless it has
  /// another by now. False: it was closed already.
  bool close(std::uint64_t serial) noexcept;
  /// `tid` has it from now on, if it is still open.
  void resume(pid_t tid, std::uint64_t serial) noexcept;
  /// `tid` has none from now on, nor that of its maker.
  void disown(pid_t tid) noexcept;
  /// Labels that an earlier process opened and whose holders have not come back are closed after a while. To be called
  /// before any other.
  void go_on() noexcept;
  /// Does that, if it is time. One thread.
  void forget_left() noexcept;
  /// What could not be said, as too many threads had said something.
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Scope {
    pid_t tid = 0;
    std::uint64_t outer = 0;  ///< Is open, or TRACER_NO_LABEL; 0: none.
    std::size_t inner = 0;    ///< Whose outer it is.
  };
  using Scopes = std::unordered_map<std::uint64_t, Scope>;

  /// What `tid` has said; 0: nothing.
  std::uint64_t current(pid_t tid) const noexcept;
  void count_inner(std::uint64_t outer, std::ptrdiff_t more) noexcept;
  void leave(Scopes::iterator closed) noexcept;
  void set(pid_t tid, std::uint64_t serial) noexcept;

  lifecycle_bpf& skeleton_;
  int threads_map_;
  int open_map_;
  std::atomic<std::uint64_t> refused_{0};
  std::mutex mutex_;  ///< What is said of a thread is one step: others may end or resume its labels meanwhile.
  std::uint64_t last_serial_ = 0;
  Scopes open_;                           ///< By serial.
  std::vector<std::uint64_t> left_ = {};  ///< Open ones of an earlier process.
  std::chrono::steady_clock::time_point left_until_{};
};

}  // namespace tracer::internal
