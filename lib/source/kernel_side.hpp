// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <tracer/families.hpp>

#include "base/user_ids.hpp"
#include "source/scope_counts.hpp"

namespace tracer::internal {

/// The part of a source that is in the kernel: what it costs, what it counts, and what stays of it where it outlives
/// this process. Called by the reader, unless it says otherwise.
class KernelSide {
 public:
  // From any thread, read on the calling one.
  /// Time of its programs, by family; empty when it is not known.
  virtual std::map<Family, std::uint64_t> kernel_ns() const = 0;
  virtual std::optional<std::uint64_t> kernel_memory_bytes() const = 0;

  /// Whose subordinate user ids are whose: what users share is charged to them.
  virtual void use(const UserIds& user_ids) = 0;
  /// Null: it does not count what scopes do as a whole.
  virtual ScopeCounts* scope_counts() noexcept = 0;

  // Where it outlives this process: records stay in the rings until they are released.
  struct Held {
    std::uint32_t context_id = 0;
    std::uint64_t program_start_ns = 0;
  };
  /// What it knows of a process that it follows; absent: it does not.
  virtual std::optional<Held> held(std::uint32_t pid, std::uint64_t start_ns) const = 0;
  /// How far each ring was read and yielded.
  virtual std::vector<std::uint64_t> given() const = 0;
  /// What lies before that is kept elsewhere, or given up. From any thread, as the next.
  virtual void release(std::span<const std::uint64_t> given) noexcept = 0;
  /// How much of a ring is taken by what was yielded and not released, 0 to 1.
  virtual double unreleased_share() const noexcept = 0;

 protected:
  ~KernelSide() = default;
};

}  // namespace tracer::internal
