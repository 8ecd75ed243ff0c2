// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/kernel_counters.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <unordered_set>

#include "source/kernel/per_cpu.hpp"

namespace tracer::internal {
namespace {

void add_words(tracer_context_totals& sum, const tracer_context_totals& more) {
  using Words = std::array<std::uint64_t, sizeof sum / sizeof(std::uint64_t)>;
  auto words = std::bit_cast<Words>(sum);
  const auto add = std::bit_cast<Words>(more);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] += add[i];
  sum = std::bit_cast<tracer_context_totals>(words);
}

tracer_slot slot_at(int map, std::uint32_t place) {
  tracer_slot slot{};
  return ::bpf_map_lookup_elem(map, &place, &slot) == 0 ? slot : tracer_slot{};
}

/// A part of the table of processes, mapped only while it is read: it counts as memory of this process.
class MappedSlots {
 public:
  static constexpr std::uint32_t kPlaces = 2048;  ///< Whole pages of any size.

  MappedSlots(int map, std::uint32_t first, std::uint32_t places)
      : bytes_(places * sizeof(tracer_slot)),
        address_(::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, map, static_cast<off_t>(first * sizeof(tracer_slot)))) {
  }
  ~MappedSlots() {
    if (*this) ::munmap(address_, bytes_);
  }
  MappedSlots(const MappedSlots&) = delete;
  MappedSlots& operator=(const MappedSlots&) = delete;

  /// False: there is no room for it.
  explicit operator bool() const noexcept { return address_ != MAP_FAILED; }
  const tracer_slot& operator[](std::uint32_t at) const noexcept {
    return static_cast<const tracer_slot*>(address_)[at];
  }

 private:
  std::size_t bytes_;
  void* address_;
};

}  // namespace

KernelCounters::KernelCounters(const bpf_object& object) noexcept {
  const auto map_of = [&object](const char* name) { return ::bpf_object__find_map_by_name(&object, name); };
  totals_map_ = ::bpf_map__fd(map_of("totals"));
  more_totals_map_ = ::bpf_map__fd(map_of("more_totals"));
  processes_map_ = ::bpf_map__fd(map_of("processes"));
  displaced_map_ = ::bpf_map__fd(map_of("displaced_processes"));
  contexts_ = ::bpf_map__max_entries(map_of("totals"));
  places_ = ::bpf_map__max_entries(map_of("processes"));
}

void KernelCounters::add_context(std::uint32_t id) const {
  const tracer_context_totals none{};
  if (id >= contexts_) ::bpf_map_update_elem(more_totals_map_, &id, &none, BPF_NOEXIST);
}

tracer_context_totals KernelCounters::sums_of(std::uint32_t id) const {
  tracer_context_totals sum{};
  if (id >= contexts_) {
    if (::bpf_map_lookup_elem(more_totals_map_, &id, &sum) != 0) sum = {};
  } else {
    for_each_cpu_value<tracer_context_totals>(totals_map_, id,
                                              [&](const tracer_context_totals& value) { add_words(sum, value); });
  }
  return sum;
}

std::vector<std::uint32_t> KernelCounters::unused_contexts(std::vector<std::uint32_t> ids) const {
  if (ids.empty()) return ids;
  std::unordered_set<std::uint32_t> used;
  for_each_tracked([&used](std::uint32_t, const tracer_process& process) { used.insert(process.context_id); });
  std::erase_if(ids, [&used](std::uint32_t id) { return used.contains(id); });
  return ids;
}

void KernelCounters::forget_context(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  add_words(forgotten_, sums_of(id));
  ++forgotten_contexts_;
  if (id >= contexts_) {
    ::bpf_map_delete_elem(more_totals_map_, &id);
  } else {
    const auto cpus = static_cast<std::size_t>(std::max(::libbpf_num_possible_cpus(), 1));
    const std::vector<tracer_context_totals> none(cpus);
    ::bpf_map_update_elem(totals_map_, &id, none.data(), BPF_ANY);
  }
}

std::vector<RawTotals> KernelCounters::totals(std::uint32_t last_context) const {
  const std::lock_guard lock(mutex_);
  std::vector<RawTotals> all;
  std::map<std::uint32_t, std::uint64_t> living;
  for_each_tracked([&living](std::uint32_t, const tracer_process& process) { ++living[process.context_id]; });
  const auto add = [&](std::uint32_t id, std::uint64_t contexts, const tracer_context_totals& sum) {
    if (sum.ended == 0 && living[id] == 0) return;
    RawTotals totals;
    totals.context_id = id;
    totals.contexts = contexts;
    totals.living = living[id];
    totals.ended = sum.ended;
    totals.failed = sum.failed;
    totals.account = {std::bit_cast<RawCounts>(sum.account)};
    totals.read_before_exec_bytes = sum.read_before_exec_bytes;
    totals.doubtful_reads = sum.doubtful_reads;
    totals.lost_threads = sum.lost_threads;
    totals.lost_sums = sum.lost_sums;
    all.push_back(totals);
  };
  for (std::uint32_t id = 0; id <= last_context; ++id) add(id, 1, sums_of(id));
  add(kForgottenContexts, forgotten_contexts_, forgotten_);
  return all;
}

std::optional<tracer_process> KernelCounters::process(std::uint32_t number) const {
  const tracer_slot slot = slot_at(processes_map_, number & (places_ - 1));
  tracer_process displaced{};
  if (slot.pid == number) return slot.process;
  if (slot.displaced != 0 && ::bpf_map_lookup_elem(displaced_map_, &number, &displaced) == 0) return displaced;
  return std::nullopt;
}

bool KernelCounters::tracks(std::uint32_t number) const {
  const auto found = process(number);
  return found && (found->flags & TRACER_FLAG_EXCLUDED) == 0;
}

std::optional<KernelSide::Held> KernelCounters::held(std::uint32_t number, std::uint64_t start_ns) const {
  const auto found = process(number);
  if (!found || found->start_ns != start_ns || (found->flags & TRACER_FLAG_EXCLUDED) != 0) return std::nullopt;
  return KernelSide::Held{found->context_id, found->program_start_ns};
}

std::vector<KernelCounters::Tracked> KernelCounters::tracked() const {
  std::vector<Tracked> all;
  for_each_tracked([&all](std::uint32_t number, const tracer_process& process) {
    all.push_back({number, process.pid});
  });
  return all;
}

void KernelCounters::for_each_tracked(
    const std::function<void(std::uint32_t number, const tracer_process&)>& each) const {
  const auto reported = [](const tracer_process& process) { return (process.flags & TRACER_FLAG_EXCLUDED) == 0; };
  const auto look = [&](const tracer_slot& slot) {
    if (slot.pid != 0 && reported(slot.process)) each(slot.pid, slot.process);
  };
  for (std::uint32_t first = 0; first < places_; first += MappedSlots::kPlaces) {
    const std::uint32_t places = std::min(MappedSlots::kPlaces, places_ - first);
    const MappedSlots mapped(processes_map_, first, places);
    for (std::uint32_t at = 0; at < places; ++at) mapped ? look(mapped[at]) : look(slot_at(processes_map_, first + at));
  }
  std::uint32_t key = 0;
  for (void* before = nullptr; ::bpf_map_get_next_key(displaced_map_, before, &key) == 0; before = &key) {
    tracer_process process{};
    if (::bpf_map_lookup_elem(displaced_map_, &key, &process) == 0 && reported(process)) each(key, process);
  }
}

}  // namespace tracer::internal
