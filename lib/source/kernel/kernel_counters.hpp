// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "source/raw_counters.hpp"
#include "source/source.hpp"
#include "wire.h"

struct bpf_object;

namespace tracer::internal {

/// What the kernel side counts, read from its maps. From any thread.
class KernelCounters {
 public:
  /// Of the loaded lifecycle family, which must outlive this.
  explicit KernelCounters(const bpf_object& lifecycle) noexcept;

  /// Makes room for the sums of a context.
  void add_context(std::uint32_t id) const;
  /// Those of these contexts that no tracked process has.
  std::vector<std::uint32_t> unused_contexts(std::vector<std::uint32_t> ids) const;
  /// Adds its sums to those of all that were forgotten, and makes its room free.
  void forget_context(std::uint32_t id);
  /// Of the contexts up to this one, and of the forgotten ones.
  std::vector<RawTotals> totals(std::uint32_t last_context) const;
  struct Tracked {
    std::uint32_t number = 0;  ///< The kernel's own.
    std::uint32_t pid = 0;     ///< In the pid namespace of this process.
  };
  /// Whether the kernel side holds a place for the process of this number, and reports it.
  bool tracks(std::uint32_t number) const;
  /// Of one that it reports, by its number and beginning.
  std::optional<KernelSide::Held> held(std::uint32_t number, std::uint64_t start_ns) const;
  /// All of which it does.
  std::vector<Tracked> tracked() const;

 private:
  /// As it is while the kernel may change it.
  std::optional<tracer_process> process(std::uint32_t number) const;
  tracer_context_totals sums_of(std::uint32_t id) const;
  void for_each_tracked(const std::function<void(std::uint32_t number, const tracer_process&)>& each) const;

  int totals_map_ = -1;
  int more_totals_map_ = -1;  ///< Of contexts from contexts_ on.
  int processes_map_ = -1;
  int displaced_map_ = -1;
  std::uint32_t contexts_ = 0;
  std::uint32_t places_ = 0;
  mutable std::mutex mutex_;           ///< While sums move: who reads them has them once.
  tracer_context_totals forgotten_{};  ///< Of all contexts that were forgotten.
  std::uint64_t forgotten_contexts_ = 0;
};

}  // namespace tracer::internal
