// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "source/scope_counts.hpp"

struct lifecycle_bpf;

namespace tracer::internal {

/// Scopes that the kernel side counts: bpf/counted.h.
class KernelScopes final : public ScopeCounts {
 public:
  explicit KernelScopes(lifecycle_bpf& skeleton) noexcept;

  /// Ends the scopes of an earlier process that kept this kernel side. Before any other.
  void go_on();

  std::uint64_t now_ns() const override;
  std::optional<std::uint32_t> begin() override;
  Put put(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t scope) override;
  std::optional<ScopeTimes> read(std::uint32_t scope) override;
  void end(std::uint32_t scope) override;

  /// No switch is seen any more: only of what does not run is it known what it did.
  void stop() noexcept { stopped_ = true; }
  /// Nor will what was seen before be asked for.
  void shed() noexcept { stopped_ = shed_ = true; }

 private:
  lifecycle_bpf& skeleton_;
  std::vector<std::uint32_t> ids_;  ///< By place: of the last that was there.
  std::vector<bool> taken_;
  std::uint32_t next_place_ = 0;
  bool stopped_ = false;
  bool shed_ = false;
};

}  // namespace tracer::internal
