// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/kernel_counters.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "source/kernel/object_usage.hpp"

namespace tracer {
namespace {

constexpr std::array<const char*, TRACER_LOSS_CAUSES> kLossNames = {
    "ring_full_process_start", "ring_full_process_exec", "ring_full_process_exit", "ring_full_cgroup",
    "process_table_full",      "thread_table_full",      "cgroup_table_full",      "ledger_table_full"};

template <class Value, class Function>
void for_each_cpu_value(int map, std::uint32_t key, Function function) {
  static_assert(sizeof(Value) % 8 == 0);
  const auto cpus = static_cast<std::size_t>(std::max(::libbpf_num_possible_cpus(), 1));
  std::vector<Value> values(cpus);
  if (::bpf_map_lookup_elem(map, &key, values.data()) != 0) return;
  for (const Value& value : values) function(value);
}

void add_words(tracer_context_totals& sum, const tracer_context_totals& more) {
  using Words = std::array<std::uint64_t, sizeof sum / sizeof(std::uint64_t)>;
  auto words = std::bit_cast<Words>(sum);
  const auto add = std::bit_cast<Words>(more);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] += add[i];
  sum = std::bit_cast<tracer_context_totals>(words);
}

}  // namespace

KernelCounters::KernelCounters(const bpf_object& object, const bpf_object* waits) : programs_{&object} {
  if (waits != nullptr) programs_.push_back(waits);
  const auto map_of = [&object](const char* name) { return ::bpf_object__find_map_by_name(&object, name); };
  losses_map_ = ::bpf_map__fd(map_of("losses"));
  totals_map_ = ::bpf_map__fd(map_of("totals"));
  displaced_map_ = ::bpf_map__fd(map_of("displaced_processes"));
  contexts_ = ::bpf_map__max_entries(map_of("totals"));
  places_ = ::bpf_map__max_entries(map_of("processes"));
  const std::size_t bytes = places_ * sizeof(tracer_slot);
  void* slots = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, ::bpf_map__fd(map_of("processes")), 0);
  if (slots == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  slots_.reset(static_cast<const tracer_slot*>(slots));
  slots_.get_deleter().bytes = bytes;
}

void KernelCounters::Unmapper::operator()(const tracer_slot* slots) const noexcept {
  ::munmap(const_cast<tracer_slot*>(slots), bytes);
}

std::map<std::string, std::uint64_t> KernelCounters::losses() const {
  std::map<std::string, std::uint64_t> losses;
  for (std::uint32_t cause = 0; cause < TRACER_LOSS_CAUSES; ++cause) {
    std::uint64_t sum = 0;
    for_each_cpu_value<std::uint64_t>(losses_map_, cause, [&](std::uint64_t value) { sum += value; });
    if (sum != 0) losses[kLossNames[cause]] = sum;
  }
  const std::uint64_t missed = recursion_misses() - misses_before_;
  if (missed != 0) losses["kernel_recursion"] = missed;
  return losses;
}

std::vector<RawTotals> KernelCounters::totals(std::uint32_t last_context) const {
  std::vector<RawTotals> all;
  std::map<std::uint32_t, std::uint64_t> living = unended_by_context();
  for (std::uint32_t id = 0; id < contexts_ && id <= last_context; ++id) {
    tracer_context_totals sum{};
    for_each_cpu_value<tracer_context_totals>(totals_map_, id,
                                              [&](const tracer_context_totals& value) { add_words(sum, value); });
    if (sum.ended == 0 && living[id] == 0) continue;
    RawTotals totals{id, living[id], std::vector<std::byte>(sizeof sum)};
    std::memcpy(totals.bytes.data(), &sum, sizeof sum);
    all.push_back(std::move(totals));
  }
  return all;
}

bool KernelCounters::tracks(std::uint32_t pid) const {
  const tracer_slot& slot = slots_[pid & (places_ - 1)];
  tracer_process displaced{};
  const tracer_process* process = nullptr;
  if (slot.pid == pid) {
    process = &slot.process;
  } else if (slot.displaced != 0 && ::bpf_map_lookup_elem(displaced_map_, &pid, &displaced) == 0) {
    process = &displaced;
  }
  return process != nullptr && (process->flags & TRACER_FLAG_EXCLUDED) == 0;
}

std::map<std::uint32_t, std::uint64_t> KernelCounters::unended_by_context() const {
  std::map<std::uint32_t, std::uint64_t> counts;
  const auto count = [&counts](const tracer_process& process) {
    if ((process.flags & TRACER_FLAG_EXCLUDED) == 0) ++counts[process.context_id];
  };
  for (std::uint32_t at = 0; at < places_; ++at)
    if (const auto& slot = slots_[at]; slot.pid != 0) count(slot.process);
  std::uint32_t key = 0;
  for (void* before = nullptr; ::bpf_map_get_next_key(displaced_map_, before, &key) == 0; before = &key) {
    tracer_process process{};
    if (::bpf_map_lookup_elem(displaced_map_, &key, &process) == 0) count(process);
  }
  return counts;
}

/// Times that the kernel skipped one of our programs as it was already running on that CPU. What process_exit alone
/// sees is no loss: its process then says that its peak is a bound.
std::uint64_t KernelCounters::recursion_misses() const {
  std::uint64_t sum = 0;
  for (const bpf_object* object : programs_) sum += sums_of_programs(*object, "process_exit").recursion_misses;
  return sum;
}

}  // namespace tracer
