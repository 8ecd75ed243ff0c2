// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "source/kernel/families/family.hpp"
#include "source/kernel/load/skeleton.hpp"

struct lifecycle_bpf;

namespace tracer::internal {

/// The programs that see processes begin, execute and end, the iterator over what lives, and the maps that all share.
class LifecycleFamily final : public KernelFamily {
 public:
  LifecycleFamily() noexcept;
  ~LifecycleFamily() override;

  Family id() const noexcept override { return Family::kLifecycle; }
  const char* mechanism() const noexcept override { return "tp_btf: sched_process_fork, _exec, _exit, sched_switch"; }
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override;
  std::span<const WireRecord> records() const noexcept override;
  void load(FamilySetup& setup) override;
  void unload(FamilySetup& setup) noexcept override;
  void attach() override;
  void use(const UserIds& user_ids) override;
  void end_events() noexcept override;
  void detach() noexcept override;
  const bpf_object* object() const noexcept override;
  /// Without the iterator over what lives, which is part of snapshots.
  ProgramSums usage() const override;

 private:
  static void configure(lifecycle_bpf& bpf, FamilySetup& setup);
  void find_cpu_offsets();
  void find_fifo_open() const;
  void visit_cpus() const;

  Skeleton<lifecycle_bpf> skeleton_;
};

}  // namespace tracer::internal
