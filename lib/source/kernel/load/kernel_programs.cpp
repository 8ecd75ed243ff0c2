// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/kernel_programs.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "lifecycle.skel.h"
#include "source/kernel/load/kernel_support.hpp"
#include "source/kernel/load/object_usage.hpp"

namespace tracer::internal {

KernelPrograms::KernelPrograms(const KernelSourceOptions& options)
    : options_(options),
      setup_{options_, types_, static_cast<std::uint32_t>(std::bit_ceil(options_.max_processes)),
             static_cast<std::uint32_t>(std::bit_ceil(options_.max_threads)), options_.keep.get()} {
  std::vector<Problem> problems;
  for (CheckItem& item : check_kernel(types_, kernel_families()).items)
    if (item.required && !item.available && item.problem) problems.push_back(std::move(*item.problem));
  if (!problems.empty()) throw Error(std::move(problems));
  try {
    load_all(wanted());
  } catch (const OtherKernelSide&) {
    options_.keep->begin_anew();
    for (const auto& family : loaded_) family->unload(setup_);
    loaded_.clear();
    states_.clear();
    load_all(wanted());
  }
  // Some MiB, which only what loads programs asks.
  types_.forget();
  if (options_.time_programs) timing_ = UniqueFd(::bpf_enable_stats(BPF_STATS_RUN_TIME));
}

KernelPrograms::Families KernelPrograms::wanted() const {
  Families wanted = kernel_families();
  std::erase_if(wanted, [this](const auto& family) {
    return family->id() != Family::kLifecycle &&
           std::find(options_.families.begin(), options_.families.end(), family->id()) == options_.families.end();
  });
  return wanted;
}

/// One that the kernel refuses never takes the others down. When the lifecycle is refused beside those before it, which
/// it shares maps with, it is tried without them.
void KernelPrograms::load_all(Families wanted) {
  for (auto& family : wanted) {
    states_.emplace(family->id(), FamilyState{family->id(), true, family->mechanism(), {}});
    try {
      family->load(setup_);
    } catch (const Error& error) {
      if (family->id() == Family::kLifecycle) {
        if (loaded_.empty()) throw;
        for (const auto& before : loaded_) {
          leave_out(*before, error);
          before->unload(setup_);
        }
        loaded_.clear();
        family->load(setup_);
      } else {
        leave_out(*family, error);
        continue;
      }
    }
    states_.at(family->id()).mechanism = family->mechanism();
    loaded_.push_back(std::move(family));
  }
}

void KernelPrograms::leave_out(const KernelFamily& family, const Error& error) {
  const std::lock_guard lock(states_mutex_);
  FamilyState& state = states_.at(family.id());
  state.active = false;
  if (!error.problems().empty()) state.problem = error.problems().front();
}

void KernelPrograms::attach() {
  for (const auto& family : loaded_) {
    try {
      family->attach();
      const std::lock_guard lock(states_mutex_);
      states_.at(family->id()).mechanism = family->mechanism();
    } catch (const Error& error) {
      if (family->id() == Family::kLifecycle) throw;
      family->detach();
      leave_out(*family, error);
    }
  }
}

void KernelPrograms::use(const UserIds& user_ids) {
  for (const auto& family : loaded_) family->use(user_ids);
}

void KernelPrograms::end_events() noexcept {
  for (const auto& family : loaded_) family->end_events();
}

void KernelPrograms::shed(Family id, const Problem& problem) {
  for (const auto& family : loaded_)
    if (family->id() == id) family->detach();
  if (options_.keep) options_.keep->drop(id);
  const std::lock_guard lock(states_mutex_);
  const auto state = states_.find(id);
  if (state == states_.end()) return;
  state->second.active = false;
  state->second.problem = problem;
}

void KernelPrograms::saw(const tracer_wire_thread& thread) {
  for (const auto& family : loaded_) family->saw(thread);
}

void KernelPrograms::read(Decoder& decoder, Feed& feed, const SnapshotHelp& help) {
  for (const auto& family : loaded_)
    if (is_active(family->id())) family->read(decoder, feed, help);
}

bool KernelPrograms::pass(const Record& record, Feed& feed) {
  bool passes = true;
  for (const auto& family : loaded_) passes = family->passes(record, feed) && passes;
  return passes;
}

void KernelPrograms::go_on(std::uint64_t before_ns) {
  for (const auto& family : loaded_)
    if (is_active(family->id())) family->go_on(before_ns);
}

void KernelPrograms::flush(Feed& feed) {
  for (const auto& family : loaded_) family->flush(feed);
}

bool KernelPrograms::is_active(Family family) const {
  const std::lock_guard lock(states_mutex_);
  const auto state = states_.find(family);
  return state != states_.end() && state->second.active;
}

std::vector<FamilyState> KernelPrograms::states() const {
  const std::lock_guard lock(states_mutex_);
  std::map<Family, FamilyState> now = states_;
  for (const auto& family : loaded_) {
    FamilyState& state = now.at(family->id());
    if (!state.active) continue;
    state.active = family->works();
    if (auto problem = family->problem()) state.problem = std::move(problem);
  }
  std::vector<FamilyState> states;
  for (auto& [family, state] : now) states.push_back(std::move(state));
  return states;
}

std::vector<FamilyState> KernelPrograms::states_with_missing_parts() const {
  std::vector<FamilyState> all = states();
  for (FamilyState& state : all)
    for (const auto& family : loaded_)
      if (family->id() == state.family && state.active && !state.problem) state.problem = family->missing_part();
  return all;
}

std::map<Family, std::uint64_t> KernelPrograms::kernel_ns() const {
  std::map<Family, std::uint64_t> times;
  if (timing_.get() < 0 && !programs_are_timed()) return times;
  for (const auto& family : loaded_) times[family->id()] = family->usage().run_ns;
  return times;
}

std::uint64_t KernelPrograms::memory_bytes() const {
  std::vector<const bpf_object*> objects;
  for (const auto& family : loaded_)
    if (const bpf_object* const object = family->object()) objects.push_back(object);
  return map_memory_bytes(objects);
}

std::map<std::string, std::uint64_t> KernelPrograms::losses() const {
  std::map<std::string, std::uint64_t> losses;
  for (const auto& family : loaded_) losses.merge(family->losses());
  return losses;
}

RingMaps KernelPrograms::rings() const {
  const auto fd_of = [this](const char* name) {
    return ::bpf_map__fd(::bpf_object__find_map_by_name(setup_.lifecycle->obj, name));
  };
  return {fd_of("events"), fd_of("event_rings"), fd_of("reader"), setup_.rings, setup_.ring_bytes, options_.keep.get()};
}

std::uint64_t KernelPrograms::recursion_misses() const {
  std::uint64_t sum = 0;
  for (const auto& family : loaded_) sum += family->usage().recursion_misses;
  return sum;
}

}  // namespace tracer::internal
