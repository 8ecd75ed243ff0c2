// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tracer/families.hpp>

#include "base/unique_fd.hpp"
#include "source/kernel/families/family.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/kernel/load/kernel_types.hpp"

struct lifecycle_bpf;

namespace tracer::internal {

/// The families that were asked for, loaded, and how each of them is there.
class KernelPrograms {
 public:
  /// Throws Error with all that is missing, or kProgramRefused or kNoMemory for the lifecycle family; others that the
  /// kernel refuses are left out, and states() says why.
  explicit KernelPrograms(const KernelSourceOptions& options);

  /// Throws Error(kProgramRefused).
  void attach();
  /// What living processes do is still to be read afterwards.
  /// As KernelFamily::use().
  void use(const UserIds& user_ids);
  void end_events() noexcept;
  void shed(Family family, const Problem& problem);
  /// As KernelFamily's, of those that are active.
  void saw(const tracer_wire_thread& thread);
  void read(Decoder& decoder, Feed& feed, const SnapshotHelp& help);
  /// As KernelFamily's: false if one of them keeps it back.
  bool pass(const Record& record, Feed& feed);
  /// As KernelFamily::go_on(), of all.
  void go_on(std::uint64_t before_ns);
  void flush(Feed& feed);
  lifecycle_bpf& lifecycle() noexcept { return *setup_.lifecycle; }
  /// Into which they send their records.
  RingMaps rings() const;

  // From any thread.
  bool is_active(Family family) const;
  std::vector<FamilyState> states() const;
  /// As states(); of families that are active, with what this kernel does not let them bring.
  std::vector<FamilyState> states_with_missing_parts() const;
  /// As KernelSide::kernel_ns and kernel_memory_bytes.
  std::map<Family, std::uint64_t> kernel_ns() const;
  std::uint64_t memory_bytes() const;
  /// What their programs have lost, by cause.
  std::map<std::string, std::uint64_t> losses() const;
  /// Times that the kernel skipped one of our programs as it was already running on that CPU.
  std::uint64_t recursion_misses() const;

 private:
  using Families = std::vector<std::unique_ptr<KernelFamily>>;
  Families wanted() const;
  void load_all(Families wanted);
  void leave_out(const KernelFamily& family, const Error& error);

  KernelSourceOptions options_;
  KernelTypes types_;
  FamilySetup setup_;
  Families loaded_;  ///< In the order of kernel_families(). Shed ones too: another thread may be reading them.
  mutable std::mutex states_mutex_;
  std::map<Family, FamilyState> states_;
  UniqueFd timing_;  ///< While it is open the kernel counts run times, at some 50 ns a run.
};

}  // namespace tracer::internal
