// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "source/kernel/families/family.hpp"
#include "source/kernel/load/skeleton.hpp"

struct waits_bpf;

namespace tracer::internal {

/// The programs that see what threads wait for, and the maps of ledgers, which the lifecycle shares.
class WaitsFamily final : public KernelFamily {
 public:
  WaitsFamily() noexcept;
  ~WaitsFamily() override;

  Family id() const noexcept override { return Family::kWaits; }
  const char* mechanism() const noexcept override {
    return "tp_btf: sched_switch, sched_waking, mm_vmscan_*_reclaim_*";
  }
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override;
  void load(FamilySetup& setup) override;
  void unload(FamilySetup& setup) noexcept override;
  void attach() override;
  void end_events() noexcept override { detach(); }
  void detach() noexcept override;
  /// For which devices processes that live have waited.
  void read(Decoder& decoder, Feed& feed, const SnapshotHelp& help) override;
  bool passes(const Record& record, Feed& feed) override;
  const bpf_object* object() const noexcept override;

 private:
  Skeleton<waits_bpf> skeleton_;
};

}  // namespace tracer::internal
