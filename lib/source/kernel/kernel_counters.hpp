// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tracer/source.hpp>

#include "wire.h"

struct bpf_object;

namespace tracer {

/// What the kernel side counts, read from its maps.
class KernelCounters {
 public:
  /// Of the loaded lifecycle family and, if it is there, the waits family, which must outlive this. Throws
  /// std::system_error when a map can't be mapped.
  KernelCounters(const bpf_object& object, const bpf_object* waits);

  /// From now on: misses of programs that others of the same kind had before are not ours.
  void start() { misses_before_ = recursion_misses(); }
  std::map<std::string, std::uint64_t> losses() const;
  /// Of the contexts up to this one.
  std::vector<RawTotals> totals(std::uint32_t last_context) const;
  /// Whether the kernel side holds a place for this process, and reports it.
  bool tracks(std::uint32_t pid) const;
  /// By context id, the processes that the kernel side holds a place for.
  std::map<std::uint32_t, std::uint64_t> unended_by_context() const;

 private:
  struct Unmapper {
    Unmapper() noexcept = default;
    std::size_t bytes = 0;
    void operator()(const tracer_slot* slots) const noexcept;
  };
  std::uint64_t recursion_misses() const;

  std::vector<const bpf_object*> programs_;
  int losses_map_ = -1;
  int totals_map_ = -1;
  int displaced_map_ = -1;
  std::uint32_t contexts_ = 0;
  std::uint32_t places_ = 0;
  std::unique_ptr<const tracer_slot[], Unmapper> slots_;
  std::uint64_t misses_before_ = 0;
};

}  // namespace tracer
