// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <tracer/filter.hpp>

#include "source/source_request.hpp"

struct lifecycle_bpf;

namespace tracer::internal {

/// The part of the filter that the kernel decides, in its maps.
class KernelRules {
 public:
  /// Rules on trees that the kernel side holds at a time.
  static constexpr std::size_t kMostTrees = 1024;

  explicit KernelRules(lifecycle_bpf& skeleton) : skeleton_(skeleton) {}

  /// Throws Error(kInvalidArgument): too many.
  void add(const SourceRule& rule);
  /// Throws as above.
  void include_tree(std::uint32_t pid, std::uint32_t context_id);
  /// They are carried out, and their pids may come again.
  void forget_trees() const noexcept;

 private:
  lifecycle_bpf& skeleton_;
};

}  // namespace tracer::internal
