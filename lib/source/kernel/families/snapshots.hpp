// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "source/proc/cgroup_memory.hpp"
#include "source/kernel/families/family.hpp"
#include "source/kernel/load/skeleton.hpp"

struct snapshots_bpf;

namespace tracer::internal {

/// The program that sees which files tracked processes have open, and what is charged to their cgroups.
class SnapshotsFamily final : public KernelFamily {
 public:
  SnapshotsFamily() noexcept;
  ~SnapshotsFamily() override;

  Family id() const noexcept override { return Family::kSnapshots; }
  const char* mechanism() const noexcept override { return "iter/task, iter/task_file"; }
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override;
  std::span<const WireRecord> records() const noexcept override;
  void load(FamilySetup& setup) override;
  void unload(FamilySetup& setup) noexcept override;
  void attach() override;
  void end_events() noexcept override {}
  void detach() noexcept override;
  void saw(const tracer_wire_thread& thread) override;
  /// Files, and cgroups of the threads that were seen.
  void read(Decoder& decoder, Feed& feed, const SnapshotHelp& help) override;
  const bpf_object* object() const noexcept override;
  /// With the iterator over tasks, which the lifecycle loads.
  ProgramSums usage() const override;

 private:
  Skeleton<snapshots_bpf> skeleton_;
  const bpf_program* living_tasks_ = nullptr;
  CgroupMemoryReader cgroup_memory_;
};

}  // namespace tracer::internal
