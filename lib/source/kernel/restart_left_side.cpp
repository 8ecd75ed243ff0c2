// SPDX-License-Identifier: Apache-2.0
#include "base/process_id.hpp"
#include "source/kernel/restart_left_side.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
#include <set>
#include <variant>

#include "source/kernel/load/restart_kernel.hpp"
#include "source/kernel/ring/time_merge.hpp"

namespace tracer::internal {
namespace {

using CgroupId = std::pair<Hierarchy, std::uint64_t>;

/// What the side that goes on knows of a process.
struct Seen {
  std::uint64_t from_ns = std::numeric_limits<std::uint64_t>::max();  ///< All of it, from then on.
  bool from_birth = false;
  bool ended = false;
  std::vector<const ExecRecord*> execs = {};
};

template <class R>
std::optional<ProcessId> identity_of(const R& record) {
  if constexpr (requires { record.identity.start_ns; })
    return ProcessId{record.identity.start_ns, record.identity.pid};
  else
    return std::nullopt;
}

/// Passes on what each of two sides has told, without what both have told.
class Joining {
 public:
  Joining(std::span<const Record> goes_on, std::uint64_t attached_ns, Feed& to)
      : goes_on_(goes_on), attached_ns_(attached_ns), to_(to) {
    for (const Record& record : goes_on) std::visit([this](const auto& each) { note(each); }, record);
  }
  void pass_left(const Record& record) {
    std::visit(
        [&](const auto& each) {
          if (told_by_both(each)) return;
          if (const auto identity = identity_of(each)) told_.insert(*identity);
          to_.record(record);
        },
        record);
  }
  void pass_rest() {
    for (const Record& record : goes_on_) {
      Record copy = record;
      if (std::visit([this](auto& each) { return is_over(each); }, copy)) continue;
      to_.record(copy);
    }
  }

 private:
  template <class R>
  void note(const R&) {}
  void note(const StartRecord& record) {
    Seen& seen = note_from(record.identity, record.attached_ns.value_or(record.identity.start_ns));
    if (record.attached_ns) return;
    seen.from_birth = true;
    // Of what was born before, an exec may have been missed.
    if (record.identity.start_ns >= attached_ns_) seen.from_ns = 0;
  }
  void note(const ThreadRecord& record) {
    if (record.newly_adopted) note_from(record.identity, record.attached_ns.value_or(record.identity.time_ns));
  }
  void note(const ExecRecord& record) { note_from(record.identity, record.identity.time_ns).execs.push_back(&record); }
  void note(const ExitRecord& record) { note_from(record.identity, record.identity.time_ns).ended = true; }
  void note(const CgroupEndRecord& record) { ended_cgroups_.emplace(record.hierarchy, record.cgroup_id); }
  Seen& note_from(const RecordIdentity& identity, std::uint64_t time_ns) {
    Seen& seen = seen_[ProcessId{identity.start_ns, identity.pid}];
    seen.from_ns = std::min(seen.from_ns, std::max(time_ns, attached_ns_));
    return seen;
  }

  bool told_by_both(const CgroupEndRecord& record) {
    return ended_cgroups_.contains({record.hierarchy, record.cgroup_id});
  }
  template <class R>
  bool told_by_both(const R& record) {
    const auto identity = identity_of(record);
    const auto seen = identity ? seen_.find(*identity) : seen_.end();
    if (seen == seen_.end()) return false;
    if constexpr (std::same_as<R, ExitRecord>) {
      if (!seen->second.ended) over_.insert(*identity);
      return seen->second.ended;
    } else if constexpr (std::same_as<R, ExecRecord>) {
      if (record.identity.time_ns >= seen->second.from_ns || has(seen->second.execs, record)) return true;
      if (seen->second.from_birth) missed_exec_.insert(*identity);
      return false;
    } else if constexpr (requires { record.identity.time_ns; }) {
      return record.identity.time_ns >= seen->second.from_ns;
    }
    return false;
  }
  /// Both are called in the same exec, one after the other.
  static bool has(const std::vector<const ExecRecord*>& execs, const ExecRecord& record) {
    constexpr std::uint64_t kApartNs = 10'000'000;
    return std::any_of(execs.begin(), execs.end(), [&](const ExecRecord* each) {
      const auto [first, last] = std::minmax(each->identity.time_ns, record.identity.time_ns);
      return last - first < kApartNs && each->text.exe == record.text.exe && each->text.argv == record.text.argv;
    });
  }

  template <class R>
  bool is_over(R& record) const {
    const auto identity = identity_of(record);
    if (!identity) return false;
    if constexpr (std::same_as<R, StartRecord>)
      record.again = record.attached_ns ? told_.contains(*identity) : missed_exec_.contains(*identity);
    if constexpr (std::same_as<R, ThreadRecord>) record.again = told_.contains(*identity);
    return over_.contains(*identity);
  }

  std::span<const Record> goes_on_;
  std::uint64_t attached_ns_;
  Feed& to_;
  std::map<ProcessId, Seen> seen_;
  std::set<CgroupId> ended_cgroups_;
  std::set<ProcessId> told_;         ///< By the side that was left.
  std::set<ProcessId> missed_exec_;  ///< By the side that goes on.
  std::set<ProcessId> over_;         ///< Their ends have passed.
};

}  // namespace

void join_sides(std::span<const Record> left, std::span<const Record> goes_on, std::uint64_t attached_ns, Feed& to) {
  Joining joining(goes_on, attached_ns, to);
  for (const Record& record : left) joining.pass_left(record);
  joining.pass_rest();
}

void LeftSide::Unmapper::operator()(const tracer_slot* slots) const noexcept {
  ::munmap(const_cast<tracer_slot*>(slots), bytes);
}

LeftSide::LeftSide(KeptKernel& kept, const std::vector<std::uint64_t>& released)
    : same_form_(kept.left_has_form_of_now()), maps_(kept.take_left_rings()) {
  for (const UniqueFd& map : maps_) rings_.push_back(std::make_unique<Ring>(map.get(), Ring::Release::kAtOnce));
  for (std::size_t i = 0; i < rings_.size() && released.size() == rings_.size(); ++i) rings_[i]->go_on_at(released[i]);
  const UniqueFd table = kept.take_left_map(Family::kLifecycle, "processes");
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (!same_form_ || !table || ::bpf_obj_get_info_by_fd(table.get(), &info, &size) != 0 ||
      info.value_size != sizeof(tracer_slot))
    return;
  const std::size_t bytes = std::size_t{info.max_entries} * sizeof(tracer_slot);
  void* const slots = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, table.get(), 0);
  if (slots == MAP_FAILED) return;
  slots_.reset(static_cast<const tracer_slot*>(slots));
  slots_.get_deleter().bytes = bytes;
  places_ = info.max_entries;
}

std::optional<KernelSide::Held> LeftSide::held(std::uint32_t pid, std::uint64_t start_ns) const {
  if (!slots_) return std::nullopt;
  const tracer_slot& slot = slots_[pid & (places_ - 1)];
  if (slot.pid != pid || slot.process.start_ns != start_ns) return std::nullopt;
  return KernelSide::Held{slot.process.context_id, slot.process.program_start_ns};
}

std::uint64_t LeftSide::read_rest(Decoder& decoder, Feed& feed) {
  std::uint64_t unread = 0;
  TimeMerge merge(rings_.size());
  // A program that was running when it was detached may still be writing.
  constexpr useconds_t kPauseUs = 2000;
  for (int pass = 0; pass < 3; ++pass) {
    if (pass != 0) ::usleep(kPauseUs);
    for (std::size_t ring = 0; ring < rings_.size(); ++ring)
      rings_[ring]->consume([&](std::span<const std::byte> bytes) {
        same_form_ ? merge.hold(ring, bytes) : static_cast<void>(++unread);
        return true;
      });
  }
  merge.release(std::numeric_limits<std::uint64_t>::max(), [&](std::span<const std::byte> bytes) {
    decoder.feed(bytes, feed);
    return true;
  });
  rings_.clear();
  return unread;
}

}  // namespace tracer::internal
