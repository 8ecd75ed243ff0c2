// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/labels.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "wire.h"

#include "lifecycle.skel.h"

namespace tracer::internal {

KernelLabels::KernelLabels(lifecycle_bpf& skeleton) noexcept
    : skeleton_(skeleton),
      threads_map_(::bpf_map__fd(skeleton.maps.thread_labels)),
      open_map_(::bpf_map__fd(skeleton.maps.open_labels)) {}

void KernelLabels::go_on() noexcept {
  constexpr std::chrono::seconds kTimeToComeBack{10};
  std::uint64_t serial = 0;
  for (void* before = nullptr; ::bpf_map_get_next_key(open_map_, before, &serial) == 0; before = &serial) {
    left_.push_back(serial);
  }
  // More than there ever were: what stays behind with a thread must not mean a new one.
  last_serial_ = boot_time_ns();
  left_until_ = std::chrono::steady_clock::now() + kTimeToComeBack;
}

void KernelLabels::forget_left() noexcept {
  if (left_.empty() || std::chrono::steady_clock::now() < left_until_) return;
  // Where it stays behind with a thread, it means nothing.
  for (const std::uint64_t serial : left_) ::bpf_map_delete_elem(open_map_, &serial);
  left_.clear();
}

std::uint64_t KernelLabels::current(pid_t tid) const noexcept {
  std::uint64_t serial = 0;
  return ::bpf_map_lookup_elem(threads_map_, &tid, &serial) == 0 ? serial : 0;
}

std::uint64_t KernelLabels::open(pid_t tid, std::uint32_t context_id) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t serial = ++last_serial_;
  const std::uint64_t around = current(tid);
  const auto scope = open_.emplace(serial, Scope{tid}).first;
  skeleton_.bss->labels_in_use = 1;
  int error = -::bpf_map_update_elem(open_map_, &serial, &context_id, BPF_ANY);
  if (error == 0) {
    error = -::bpf_map_update_elem(threads_map_, &tid, &serial, BPF_ANY);
    if (error != 0) ::bpf_map_delete_elem(open_map_, &serial);
  }
  if (error == 0) {
    if (around == TRACER_NO_LABEL || open_.contains(around)) scope->second.outer = around;
    count_inner(around, 1);
    return serial;
  }
  open_.erase(scope);
  throw Error({ErrorCode::kInvalidArgument,
               error,
               fmt::format("no room for the label of thread {}", tid),
               error == E2BIG ? "raise SessionOptions::max_labeled_threads" : "",
               {}});
}

void KernelLabels::count_inner(std::uint64_t outer, std::ptrdiff_t more) noexcept {
  if (const auto scope = open_.find(outer); scope != open_.end()) scope->second.inner += static_cast<std::size_t>(more);
}

/// What was around it is now around those that it was around, but for those of threads that had only resumed it.
void KernelLabels::leave(Scopes::iterator closed) noexcept {
  const auto [serial, scope] = *closed;
  open_.erase(closed);
  count_inner(scope.outer, -1);
  if (scope.inner == 0) return;
  for (auto& [each, other] : open_) {
    if (other.outer != serial) continue;
    other.outer = other.tid == scope.tid ? scope.outer : 0;
    count_inner(other.outer, 1);
  }
}

bool KernelLabels::close(std::uint64_t serial) noexcept {
  const std::lock_guard lock(mutex_);
  const auto scope = open_.find(serial);
  if (scope == open_.end()) return false;
  const auto [tid, outer, inner] = scope->second;
  leave(scope);
  // Before the thread's: in between, nothing may get a label that is over. Where it stays behind it means nothing.
  ::bpf_map_delete_elem(open_map_, &serial);
  // A thread that ended has none any more, and another may have its id by now.
  if (current(tid) != serial) return true;
  if (outer != 0) {
    ::bpf_map_update_elem(threads_map_, &tid, &outer, BPF_EXIST);
  } else {
    ::bpf_map_delete_elem(threads_map_, &tid);
  }
  return true;
}

void KernelLabels::resume(pid_t tid, std::uint64_t serial) noexcept {
  const std::lock_guard lock(mutex_);
  if (open_.contains(serial)) set(tid, serial);
}

void KernelLabels::disown(pid_t tid) noexcept {
  const std::lock_guard lock(mutex_);
  // Before the first label there is nothing to be without.
  if (last_serial_ != 0) set(tid, TRACER_NO_LABEL);
}

void KernelLabels::set(pid_t tid, std::uint64_t serial) noexcept {
  if (::bpf_map_update_elem(threads_map_, &tid, &serial, BPF_ANY) != 0) ++refused_;
}

}  // namespace tracer::internal
