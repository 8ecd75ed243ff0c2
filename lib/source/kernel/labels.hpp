// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

struct lifecycle_bpf;

namespace tracer::internal {

/// What threads have said of the processes that they make: bpf/labels.h. Any thread.
class KernelLabels {
 public:
  explicit KernelLabels(lifecycle_bpf& skeleton) noexcept;

  /// What `tid` forks from now on has this context. Returns the label's serial. Throws Error(kInvalidArgument) where
  /// too many are open.
  std::uint64_t open(pid_t tid, std::uint32_t context_id);
  /// Nothing has it from now on; `tid` has its outer label again, 0 for none.
  void close(pid_t tid, std::uint64_t serial, std::uint64_t outer) noexcept;
  void resume(pid_t tid, std::uint64_t serial) noexcept;
  void unlabel(pid_t tid) noexcept;
  void inherit(pid_t tid) noexcept;
  /// The thread's own; 0: none.
  std::uint64_t current(pid_t tid) const noexcept;

 private:
  lifecycle_bpf& skeleton_;
  int threads_map_;
  int open_map_;
  std::atomic<std::uint64_t> last_serial_{0};
};

}  // namespace tracer::internal
