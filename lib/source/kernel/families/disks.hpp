// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "source/kernel/families/family.hpp"
#include "source/kernel/load/skeleton.hpp"
#include "wire.h"

struct disks_bpf;

namespace tracer::internal {

/// The programs that see what block devices are asked for, and what they have done.
class DisksFamily final : public KernelFamily {
 public:
  DisksFamily() noexcept;
  ~DisksFamily() override;

  Family id() const noexcept override { return Family::kDisks; }
  const char* mechanism() const noexcept override {
    return "tp_btf: block_rq_issue, block_rq_complete, block_bio_queue";
  }
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override;
  void load(FamilySetup& setup) override;
  void unload(FamilySetup& setup) noexcept override;
  void attach() override;
  void end_events() noexcept override { detach(); }
  void detach() noexcept override;
  /// Devices that have done anything, or were asked for something, since the regular snapshot before.
  void read(Decoder& decoder, Feed& feed, const SnapshotHelp& help) override;
  const bpf_object* object() const noexcept override;

 private:
  using UsesByDevice = std::map<std::uint32_t, std::vector<DeviceRecord::Use>>;

  UsesByDevice take_uses();
  /// Since the last call; absent: not known.
  std::optional<std::uint64_t> more_busy_ns(std::uint32_t device);
  void forget(std::uint32_t device);

  Skeleton<disks_bpf> skeleton_;
  std::map<std::uint32_t, tracer_device_sums> sums_;  ///< As of the last read.
  std::map<std::uint32_t, std::uint64_t> busy_ns_;    ///< Likewise.
  std::uint64_t read_ns_ = 0;                         ///< When that was.
};

}  // namespace tracer::internal
