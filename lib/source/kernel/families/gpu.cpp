// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "source/gpu/nvml_helper.hpp"
#include "source/gpu/nvml_uses.hpp"
#include "source/kernel/families/family.hpp"
#include "source/proc/drm_clients.hpp"
#include "source/proc/pid_namespace.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

/// Reads who uses GPUs at snapshots. It has no programs in the kernel: drivers say it in files, or through a library.
class GpuFamily final : public KernelFamily {
 public:
  Family id() const noexcept override { return Family::kGpu; }
  const char* mechanism() const noexcept override { return mechanism_.c_str(); }
  void check(const KernelTypes&, std::vector<CheckItem>&) const override {}

  void load(FamilySetup&) override {
    drivers_ = DrmClients::drivers();
    try {
      nvml_ = start_nvml();
    } catch (const Error& error) {
      if (drivers_.empty()) throw;
      no_nvml_ = error.problems().front();
    }
    if (nvml_) mechanism_ = fmt::format("NVML {} by tracer-gpu", nvml_->version());
    if (!drivers_.empty()) mechanism_ += fmt::format("{}DRM fdinfo ({})", nvml_ ? ", " : "", drivers_);
  }
  void unload(FamilySetup&) noexcept override { nvml_.reset(); }
  void attach() override {}
  void end_events() noexcept override {}
  void detach() noexcept override {
    detached_ = true;
    if (nvml_) nvml_->stop();
  }

  void saw(const tracer_wire_thread& thread) override { processes_[thread.header.pid] = thread.header.start_ns; }

  void read(Decoder&, Feed& feed, const SnapshotHelp& help) override {
    const auto processes = std::exchange(processes_, {});
    if (!help.regular || detached_) return;
    if (nvml_ && nvml_->works()) read_nvml(processes, feed);
    if (drivers_.empty()) return;
    for (GpuRecord& record : drm_.read(processes, help.between)) feed.record(std::move(record));
  }

  const bpf_object* object() const noexcept override { return nullptr; }
  /// What tracer-gpu takes beside the reader.
  ProgramSums usage() const override { return {nvml_ ? nvml_->cpu_ns() : 0, 0}; }
  std::optional<Problem> problem() const override { return nvml_ ? nvml_->problem() : no_nvml_; }
  bool works() const noexcept override { return !drivers_.empty() || (nvml_ && nvml_->works()); }
  std::map<std::string, std::uint64_t> losses() const override {
    std::map<std::string, std::uint64_t> losses;
    const auto add = [&losses](const char* cause, std::uint64_t count) {
      if (count != 0) losses[cause] = count;
    };
    add("gpu_use_refused", drm_.refused() + uses_refused_.value() + (nvml_ ? nvml_->refused() : 0));
    add("gpu_use_not_read", drm_.not_read());
    return losses;
  }

 private:
  /// Throws Error(kNoGpu).
  static std::unique_ptr<NvmlHelper> start_nvml() {
    if (own_pid_namespace() != 0)
      throw Error({ErrorCode::kNoGpu,
                   0,
                   "NVIDIA's driver names processes by the host's numbers, which this pid namespace does not show",
                   "trace from the host",
                   {}});
    const std::string program = NvmlHelper::find();
    if (program.empty())
      throw Error({ErrorCode::kNoGpu,
                   0,
                   "tracer-gpu, which asks NVIDIA's management library, is not there, and no other driver reports the "
                   "use of a GPU",
                   "put tracer-gpu, which comes with tracerd, beside it",
                   {}});
    auto helper = std::make_unique<NvmlHelper>(program);
    helper->start();
    return helper;
  }

  void read_nvml(const NvmlUses::Processes& processes, Feed& feed) {
    auto state = nvml_->ask();
    if (nvml_->take_restarted()) uses_.begin_anew();
    if (!state) return;
    // Events have the kernel's own clock, in any time namespace.
    state->time_ns -= static_cast<std::uint64_t>(boot_offset_ns());
    for (GpuRecord& record : uses_.take(*state, processes, boot_time_ns())) feed.record(std::move(record));
    uses_refused_.set(uses_.refused());
  }

  std::string mechanism_;
  std::string drivers_;  ///< That report use in fdinfo.
  std::unique_ptr<NvmlHelper> nvml_;
  std::optional<Problem> no_nvml_;
  NvmlUses uses_;
  Counter uses_refused_;
  DrmClients drm_;
  std::map<std::uint32_t, std::uint64_t> processes_;  ///< Seen by the snapshot that is being taken, with start times.
  bool detached_ = false;
};

}  // namespace

std::unique_ptr<KernelFamily> gpu_family() { return std::make_unique<GpuFamily>(); }

}  // namespace tracer::internal
