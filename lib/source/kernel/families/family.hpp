// SPDX-License-Identifier: Apache-2.0
/// What a family of fields is to the source that loads it.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/check.hpp>
#include <tracer/families.hpp>

#include "source/kernel/ring/decoder.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/kernel/load/restart_kernel.hpp"
#include "source/kernel/load/kernel_types.hpp"
#include "source/kernel/load/object_usage.hpp"
#include "source/kernel/ring/rings.hpp"

struct lifecycle_bpf;
struct tracer_wire_thread;

namespace tracer::internal {

/// What families are loaded with, and what those that are loaded give to later ones.
struct FamilySetup {
  const KernelSourceOptions& options;
  const KernelTypes& types;
  std::uint32_t places;                ///< For processes; a power of two.
  std::uint32_t thread_places;         ///< For threads; likewise.
  KeptKernel* keep = nullptr;          ///< Null: nothing outlives this process.
  RingLayout rings = {};               ///< That the lifecycle was loaded with.
  std::size_t ring_bytes = 0;          ///< Of each of them.
  const bpf_object* waits = nullptr;   ///< With the maps of ledgers; null: there are none.
  lifecycle_bpf* lifecycle = nullptr;  ///< With the process table.
};

/// The maps that a family which sends records shares with the lifecycle: those of bpf/common/emit.h, but for its
/// losses.
inline constexpr const char* kMapsToSend[] = {"events", "event_rings", "reader", "id_ranges"};
/// The maps that a family which looks up processes shares with it.
inline constexpr const char* kMapsOfProcesses[] = {"processes", "displaced_processes"};
/// Sets the constants of bpf/common/emit.h.
template <class Constants>
void set_rings(Constants& constants, const FamilySetup& setup) {
  constants.ring_count = setup.rings.rings;
  constants.ring_cpus_shift = setup.rings.cpus_shift;
  constants.wakeup_bytes = setup.ring_bytes / 8;
  constants.flood_bytes = setup.ring_bytes / 2;
}

/// What the source does for families while they are read.
struct SnapshotHelp {
  using Tracks = std::function<bool(std::uint32_t pid)>;
  std::function<void()> between;   ///< To be called every few milliseconds.
  std::function<Tracks()> tracks;  ///< Makes what says whether a pid, as this process sees it, is tracked now.
  bool regular = true;             ///< What comes of it are events. False: somebody asked, between two of these.
};

/// Of so many whose ids are random at most these find their place taken, but for one in some millions of times.
constexpr std::uint32_t most_displaced(std::uint32_t places) { return places / 2 + 1; }

/// A power of two. Few processes have several threads at the same time.
constexpr std::uint32_t places_of_process_ledgers(std::uint32_t places) { return places < 8 ? 2 : places / 4; }

/// Scopes that are counted as a whole at the same time, at most; a power of two.
inline constexpr std::uint32_t kScopePlaces = 1024;

/// One BPF object, its programs, and what user space does for it; or only that. Used by the reader, unless it says
/// otherwise.
class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  virtual Family id() const noexcept = 0;
  /// What it hangs on in the kernel.
  virtual const char* mechanism() const noexcept = 0;
  /// What this kernel has of what it needs or can use. Loads nothing.
  virtual void check(const KernelTypes& types, std::vector<CheckItem>& items) const = 0;

  /// How the records that it sends, or shows to iterators, are decoded.
  virtual std::span<const WireRecord> records() const noexcept { return {}; }

  /// Throws Error(kProgramRefused or kNoMemory), and is then as before.
  virtual void load(FamilySetup& setup) = 0;
  /// Before anything is attached.
  virtual void unload(FamilySetup& setup) noexcept = 0;
  /// Throws as above.
  virtual void attach() = 0;
  /// It was kept, and has told an earlier process of things of processes that began before that, or may have: nobody
  /// will ask for the rest of that. What they do from now on it tells anew.
  virtual void go_on(std::uint64_t /*before_ns*/) {}
  /// Sees no more events; what iterators show of the living can still be read.
  virtual void end_events() noexcept = 0;
  /// Sees nothing any more. Frees nothing that another thread may be reading.
  virtual void detach() noexcept = 0;
  /// Whose subordinate user ids are whose.
  virtual void use(const UserIds&) {}
  /// A snapshot has visited this living thread; before read().
  virtual void saw(const tracer_wire_thread&) {}
  /// Yields what a snapshot asks of it besides the living threads.
  virtual void read(Decoder&, Feed&, const SnapshotHelp&) {}

  /// A record on its way to the feed. May yield others before it. False: it goes no further.
  virtual bool passes(const Record&, Feed&) { return true; }
  /// Yields what is left when no more events come.
  virtual void flush(Feed&) {}

  // From any thread, while it is loaded.
  /// Null: it has no BPF programs.
  virtual const bpf_object* object() const noexcept = 0;
  virtual ProgramSums usage() const { return sums_of_programs(*object()); }
  /// What has stopped working since it was attached; absent: nothing.
  virtual std::optional<Problem> problem() const { return std::nullopt; }
  /// What it brings elsewhere, but not on this kernel; absent: nothing.
  virtual std::optional<Problem> missing_part() const { return std::nullopt; }
  /// False: nothing of it works any more.
  virtual bool works() const noexcept { return true; }
  /// What it has lost, by cause: the kernel's counts in its map `losses`, by the names of its row in kFamilies.
  virtual std::map<std::string, std::uint64_t> losses() const;
};

/// All there are, in the order in which they are loaded and attached: the constants of the lifecycle depend on whether
/// there are waits, and at a thread's last switch the programs of waits must run first.
std::vector<std::unique_ptr<KernelFamily>> kernel_families();

}  // namespace tracer::internal
