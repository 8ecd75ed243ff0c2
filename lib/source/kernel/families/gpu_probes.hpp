// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire.h"

#include "gpu.skel.h"
#include "source/gpu/driver_libraries.hpp"
#include "source/kernel/families/family.hpp"
#include "source/kernel/load/skeleton.hpp"

namespace tracer::internal {

/// Counts what processes ask of a GPU's driver, by probes on functions of its libraries. Used by the reader, unless it
/// says otherwise.
class GpuProbes {
 public:
  /// How its records are decoded.
  static std::span<const WireRecord> records() noexcept;
  /// Why this kernel can't have it; absent: it can.
  static std::optional<Problem> refused_by(const KernelTypes& types);

  /// Throws Error(kProgramRefused or kNoMemory).
  explicit GpuProbes(FamilySetup& setup);
  /// Throws likewise. A library that can't be probed is a problem(), no error.
  void attach();
  void detach() noexcept;

  /// Probes what has been installed, or put in another's place, since it looked last.
  void look();
  /// Yields what processes have done up to now, where that has grown.
  void read(Feed& feed);
  /// Likewise, for the last time.
  void flush(Feed& feed);

  // From any thread.
  const bpf_object& object() const noexcept { return skeleton_.object(); }
  std::optional<Problem> problem() const;
  /// Some library is there, or was, be it that it can't be probed.
  bool has_library() const;
  /// False: there is no library that it could probe.
  bool works() const;
  /// "experimental uprobes on libcuda.so.550.54 (18 functions)"; empty: on none.
  std::string mechanism() const;

 private:
  struct CloseLink {
    void operator()(bpf_link* link) const noexcept { ::bpf_link__destroy(link); }
  };
  using Link = std::unique_ptr<bpf_link, CloseLink>;
  /// One library that is probed, or was, by its number.
  struct Probed {
    std::uint64_t inode = 0;
    std::uint64_t device = 0;
    std::string name;  ///< Empty: an earlier process has probed it.
    std::vector<Link> links;
    std::size_t functions = 0;
  };
  using User = std::pair<std::uint32_t, std::uint64_t>;  ///< Pid and start time.
  using Uses = std::map<User, std::array<tracer_gpu_sums, TRACER_GPU_LIBRARIES>>;

  void find_kept();
  void probe(const DriverLibrary& library);
  void probe_functions(const DriverLibrary& library, std::uint32_t number);
  Link probe_function(const DriverLibrary& library, std::uint32_t number, const GpuFunction& function, bool at_return);
  Uses uses() const;
  void add_open_waits(Uses& uses, std::uint64_t now_ns) const;
  void yield(const Uses& uses, Feed& feed);
  void give_up(Problem problem);

  Skeleton<gpu_bpf> skeleton_;
  bool looks_ = true;
  std::vector<Probed> probed_;
  Uses told_;
  mutable std::mutex mutex_;
  std::optional<Problem> problem_;
  std::string mechanism_;
};

}  // namespace tracer::internal
