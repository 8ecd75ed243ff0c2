// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <tracer/signals.hpp>

#include "base/unique_fd.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/kernel/kernel_support.hpp"
#include "source/kernel/families/snapshot_family.hpp"
#include "source/kernel/families/waits_family.hpp"

struct lifecycle_bpf;

namespace tracer {

/// The programs of all families that were asked for, loaded, and how each family is there.
class KernelPrograms {
 public:
  /// Throws Error with all that is missing, or kProgramRefused or kNoMemory for the lifecycle family; others that the
  /// kernel refuses are left out, and signals() says why.
  explicit KernelPrograms(const KernelSourceOptions& options);
  ~KernelPrograms();
  KernelPrograms(const KernelPrograms&) = delete;
  KernelPrograms& operator=(const KernelPrograms&) = delete;

  /// Throws Error(kProgramRefused).
  void attach();
  /// All but the iterators, with which those that still live are visited afterwards.
  void detach() noexcept;
  void shed(Family family, const Problem& problem);

  lifecycle_bpf& lifecycle() noexcept { return *lifecycle_; }
  const lifecycle_bpf& lifecycle() const noexcept { return *lifecycle_; }
  /// Null: not asked for, refused, or given up.
  const WaitsFamily* waits() const noexcept { return waits_ ? &*waits_ : nullptr; }
  const SnapshotFamily* snapshots() const noexcept { return snapshots_ ? &*snapshots_ : nullptr; }
  const std::vector<SignalState>& signals() const noexcept { return signals_; }
  /// As Source::kernel_ns and kernel_memory_bytes.
  std::map<Family, std::uint64_t> kernel_ns() const;
  std::uint64_t memory_bytes() const;

 private:
  void load_with_waits();
  void load_snapshots();
  void load_lifecycle();
  void configure();
  void find_cpu_offsets();
  void visit_cpus() const;
  std::uint32_t places() const;

  struct Closer {
    void operator()(lifecycle_bpf* skeleton) const noexcept;
  };
  KernelSourceOptions options_;
  KernelTypes types_;
  std::optional<WaitsFamily> waits_;
  std::unique_ptr<lifecycle_bpf, Closer> lifecycle_;
  std::optional<SnapshotFamily> snapshots_;
  std::vector<SignalState> signals_;
  UniqueFd timing_;  ///< While it is open the kernel counts run times, at some 50 ns a run.
};

}  // namespace tracer
