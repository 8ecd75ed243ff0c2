// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/scopes.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "wire.h"

#include "base/clock.hpp"
#include "lifecycle.skel.h"
#include "source/kernel/families/family.hpp"
#include "source/kernel/process_waits.hpp"
#include "source/kernel/visit/process_counting.hpp"

namespace tracer::internal {
namespace {

/// What the program returns; absent: it did not run.
std::optional<std::uint32_t> run(const bpf_program* program, std::initializer_list<std::uint64_t> arguments) noexcept {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.ctx_in = arguments.begin();
  options.ctx_size_in = static_cast<__u32>(arguments.size() * sizeof(std::uint64_t));
  if (::bpf_prog_test_run_opts(::bpf_program__fd(program), &options) != 0) return std::nullopt;
  return options.retval;
}

}  // namespace

KernelScopes::KernelScopes(lifecycle_bpf& skeleton) noexcept : skeleton_(skeleton) {}

void KernelScopes::go_on() {
  if (skeleton_.rodata->keep_ledgers == 0) return;
  const bpf_map* const map = skeleton_.maps.scope_ledgers;
  std::vector<std::byte> slot(::bpf_map__value_size(map));
  for (std::uint32_t place = 0; place < kScopePlaces; ++place) {
    // The id is what each place begins with.
    std::uint32_t id = 0;
    if (slot.size() < sizeof id || ::bpf_map_lookup_elem(::bpf_map__fd(map), &place, slot.data()) != 0) return;
    std::memcpy(&id, slot.data(), sizeof id);
    if (id != 0) run(skeleton_.progs.end_scope, {id});
  }
}

std::uint64_t KernelScopes::now_ns() const { return boot_time_ns(); }

/// Places are taken in turn, so that of one that is over nothing is under way any more when its place is taken.
std::optional<std::uint32_t> KernelScopes::begin() {
  if (stopped_) return std::nullopt;
  if (ids_.empty()) {
    ids_.resize(kScopePlaces);
    // Of an earlier process that kept this kernel side, processes still have ids: these are ahead of them by the time.
    const auto seconds = static_cast<std::uint32_t>(boot_time_ns() / 1'000'000'000);
    for (std::uint32_t place = 0; place < kScopePlaces; ++place) ids_[place] = place + kScopePlaces * seconds;
    taken_.resize(kScopePlaces);
  }
  for (std::uint32_t tried = 0; tried < kScopePlaces; ++tried) {
    const std::uint32_t place = next_place_++ % kScopePlaces;
    if (taken_[place]) continue;
    const std::uint32_t id = ids_[place] += kScopePlaces;
    if (!run(skeleton_.progs.begin_scope, {id})) return std::nullopt;
    taken_[place] = true;
    return id;
  }
  return std::nullopt;
}

ScopeCounts::Put KernelScopes::put(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t scope) {
  if (stopped_) return Put::kGone;
  const std::uint32_t found = run(skeleton_.progs.put_in_scope, {scope, pid, start_ns}).value_or(TRACER_SCOPE_GONE);
  if (found == TRACER_SCOPE_GONE) return Put::kGone;
  if (found == TRACER_SCOPE_WAS_IN) return Put::kWasIn;
  if (found >= TRACER_SCOPE_RUNS) count_on(skeleton_, found - TRACER_SCOPE_RUNS);
  if (found == TRACER_SCOPE_MAY_RUN) count_on_all(skeleton_);
  return Put::kPut;
}

std::optional<ScopeTimes> KernelScopes::read(std::uint32_t scope) {
  if (shed_ || !run(skeleton_.progs.read_scope, {scope})) return std::nullopt;
  const tracer_scope_times& answer = skeleton_.bss->scope_answer;
  if (stopped_ && answer.on_cpu > 0) return std::nullopt;
  auto waits = whole_waits_of(answer.waits, true);
  if (!waits) return std::nullopt;
  waits->running_ns -= std::min<std::uint64_t>(waits->running_ns, answer.open_ns);
  return ScopeTimes{*waits, answer.open_ns};
}

void KernelScopes::end(std::uint32_t scope) {
  const std::uint32_t place = scope % kScopePlaces;
  if (ids_.empty() || !taken_[place] || ids_[place] != scope) return;
  taken_[place] = false;
  run(skeleton_.progs.end_scope, {scope});
}

}  // namespace tracer::internal
