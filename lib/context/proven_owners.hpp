// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <tracer/process.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// Processes of root of which is proven that they work for a user. Who reads the source notes each before its events;
/// who decides whose these are takes it with the first of them. From any thread.
class ProvenOwners {
 public:
  /// More wait only where events are lost: the oldest are forgotten, and stay root's.
  static constexpr std::size_t kMost = 1u << 16;

  /// `mount_namespace`: in which the paths of tasks lead to their folders.
  explicit ProvenOwners(std::uint32_t mount_namespace) : mount_namespace_(mount_namespace) {}

  std::uint32_t mount_namespace() const noexcept { return mount_namespace_; }
  /// What it does from `since_ns` on is the user's.
  void note(const Process& process, std::uint64_t since_ns, uid_t user);
  /// Whose an event of that time is. Absent: root's, or it was taken already.
  std::optional<uid_t> take(const Process& process, std::uint64_t time_ns);

 private:
  struct Noted {
    std::uint64_t since_ns = 0;
    uid_t user = 0;
  };

  const std::uint32_t mount_namespace_;
  std::mutex mutex_;
  std::unordered_map<ProcessId, Noted, ProcessIdHash> noted_;
  std::deque<ProcessId> order_;  ///< The oldest first; those that were taken as well, until they are the oldest.
};

}  // namespace tracer::internal
