// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "source/proc/proc_files.hpp"

namespace tracer::internal {

/// Which labels the children of this process have. Where the kernel lists the children of each thread, they are looked
/// at before anything that is said of a thread changes: what is new by then was forked before. Elsewhere children can't
/// be told apart, and only one thread may have a label at a time. Any thread.
class ProcLabels {
 public:
  explicit ProcLabels(const ProcFiles& files) : files_(files) {}

  /// As in Tracker. Throws Error(kInvalidArgument).
  std::uint64_t open(pid_t tid, std::uint32_t context_id);
  bool close(std::uint64_t serial) noexcept;
  void resume(pid_t tid, std::uint64_t serial) noexcept;
  void disown(pid_t tid) noexcept;

  /// Whether anything was ever said.
  bool in_use() const;
  /// Those of these that a label is open for, or a child that was found had.
  std::vector<std::uint32_t> used() const;

  struct Child {
    std::uint32_t pid = 0;
    std::uint64_t started_ns = 0;
    std::uint32_t context_id = 0;  ///< 0: no label.
  };
  /// The children that were not there, or not known, at the last call. Their identities are given so that a pid that
  /// comes again is another child.
  std::vector<Child> take_new();

 private:
  static constexpr std::uint64_t kNoLabel = ~std::uint64_t{0};
  static constexpr std::size_t kMostChildren = 1u << 16;

  struct Scope {
    pid_t tid = 0;
    std::uint32_t context_id = 0;
    std::uint64_t outer = 0;  ///< 0: none.
  };

  std::uint64_t current(pid_t tid) const noexcept;
  std::uint32_t context_of(pid_t tid) const noexcept;
  /// Those of its children that were not known have what is said of it now.
  void look(pid_t tid);
  void look_at_all();
  void note(std::uint32_t pid, std::uint32_t context_id);

  const ProcFiles& files_;
  mutable std::mutex mutex_;
  std::uint64_t last_serial_ = 0;
  std::map<std::uint64_t, Scope> open_;                     ///< By serial.
  std::unordered_map<pid_t, std::uint64_t> threads_;        ///< What is said of each: a serial, or kNoLabel.
  std::unordered_map<std::uint32_t, std::uint64_t> known_;  ///< Children, with their starts.
  std::vector<Child> new_;
};

}  // namespace tracer::internal
