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
#include "source/kernel/families/gpu_probes.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/load/object_usage.hpp"
#include "source/proc/drm_clients.hpp"
#include "source/proc/pid_namespace.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

/// Reads who uses GPUs at snapshots, as drivers say it in files, or through a library; and counts what processes ask of
/// drivers, where there is a library that can be probed.
class GpuFamily final : public KernelFamily {
 public:
  Family id() const noexcept override { return Family::kGpu; }
  const char* mechanism() const noexcept override { return mechanism_.c_str(); }
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override {
    items.push_back(feature_item("cookies of probes", !GpuProbes::refused_by(types),
                                 "family gpu, on request: allocations and waits for GPUs, experimental, by probes on "
                                 "the driver's library of the host, not on those in containers' images",
                                 "5.15"));
  }

  std::span<const WireRecord> records() const noexcept override { return GpuProbes::records(); }

  void load(FamilySetup& setup) override {
    drivers_ = DrmClients::drivers();
    no_probes_ = GpuProbes::refused_by(setup.types);
    try {
      nvml_ = start_nvml();
    } catch (const Error& error) {
      no_nvml_ = error.problems().front();
    }
    if (nvml_) add_mechanism(fmt::format("NVML {} by tracer-gpu", nvml_->version()));
    if (!drivers_.empty()) add_mechanism(fmt::format("DRM fdinfo ({})", drivers_));
    if (!no_probes_) load_probes(setup);
    if (nvml_ || !drivers_.empty() || (probes_ && probes_->has_library())) return;
    probes_.reset();
    throw Error(*problem());
  }
  void unload(FamilySetup&) noexcept override {
    nvml_.reset();
    probes_.reset();
    mechanism_.clear();
  }
  void attach() override {
    if (!probes_) return;
    probes_->attach();
    if (const std::string more = probes_->mechanism(); !more.empty()) add_mechanism(more);
  }
  void end_events() noexcept override {
    if (probes_) probes_->detach();
  }
  void detach() noexcept override {
    detached_ = true;
    if (nvml_) nvml_->stop();
    if (probes_) probes_->detach();
  }

  void saw(const tracer_wire_thread& thread) override { processes_[thread.header.pid] = thread.header.start_ns; }

  void read(Decoder&, Feed& feed, const SnapshotHelp& help) override {
    const auto processes = std::exchange(processes_, {});
    if (!help.regular || detached_) return;
    if (probes_) {
      probes_->look();
      probes_->read(feed);
    }
    if (nvml_ && nvml_->works()) read_nvml(processes, feed);
    if (drivers_.empty()) return;
    for (GpuRecord& record : drm_.read(processes, help.between)) feed.record(std::move(record));
  }

  void flush(Feed& feed) override {
    if (probes_) probes_->flush(feed);
  }

  const bpf_object* object() const noexcept override { return probes_ ? &probes_->object() : nullptr; }
  /// With what tracer-gpu takes beside the reader.
  ProgramSums usage() const override {
    ProgramSums sums = probes_ ? sums_of_programs(probes_->object()) : ProgramSums{};
    if (nvml_) sums.run_ns += nvml_->cpu_ns();
    return sums;
  }
  std::optional<Problem> problem() const override {
    auto problem = nvml_ ? nvml_->problem() : no_nvml_;
    auto more = probes_ ? probes_->problem() : probes_refused_;
    if (!problem || !more) return problem ? problem : more;
    problem->what += "; " + more->what;
    return problem;
  }
  std::optional<Problem> missing_part() const override {
    if (!probes_ || probes_->has_library()) return no_probes_;
    return Problem{ErrorCode::kNoGpu,
                   0,
                   "no library of a GPU's driver is there whose calls could be counted (libcuda.so.1, libamdhip64.so)",
                   "install it; with snapshots, it is found while the session runs",
                   {}};
  }
  bool works() const noexcept override {
    return !drivers_.empty() || (nvml_ && nvml_->works()) || (probes_ && probes_->works());
  }
  std::map<std::string, std::uint64_t> losses() const override {
    auto losses = probes_ ? KernelFamily::losses() : std::map<std::string, std::uint64_t>();
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

  void load_probes(FamilySetup& setup) {
    try {
      probes_ = std::make_unique<GpuProbes>(setup);
    } catch (const Error& error) {
      probes_refused_ = error.problems().front();
    }
  }

  void add_mechanism(const std::string& more) {
    mechanism_ += fmt::format("{}{}", mechanism_.empty() ? "" : ", ", more);
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
  std::unique_ptr<GpuProbes> probes_;
  std::optional<Problem> no_probes_;                  ///< This kernel lacks what they need.
  std::optional<Problem> probes_refused_;             ///< It refuses them.
  std::map<std::uint32_t, std::uint64_t> processes_;  ///< Seen by the snapshot that is being taken, with start times.
  bool detached_ = false;
};

}  // namespace

std::unique_ptr<KernelFamily> gpu_family() { return std::make_unique<GpuFamily>(); }

}  // namespace tracer::internal
