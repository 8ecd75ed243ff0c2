// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_labels.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer::internal {

std::uint64_t ProcLabels::current(pid_t tid) const noexcept {
  const auto said = threads_.find(tid);
  return said == threads_.end() ? 0 : said->second;
}

std::uint32_t ProcLabels::context_of(pid_t tid) const noexcept {
  const auto scope = open_.find(current(tid));
  return scope == open_.end() ? 0 : scope->second.context_id;
}

void ProcLabels::note(std::uint32_t pid, std::uint32_t context_id) {
  if (known_.contains(pid)) return;
  const auto stat = files_.stat(pid);
  if (!stat) return;
  // Beyond the bound those that ended are forgotten; what lives is told again, with the label that it had.
  if (known_.size() >= kMostChildren)
    std::erase_if(known_, [this](const auto& each) { return files_.is_gone(each.first); });
  known_[pid] = stat->started_from_ns;
  new_.push_back({pid, stat->started_from_ns, context_id});
}

void ProcLabels::look(pid_t tid) {
  if (!files_.lists_children()) return look_at_all();
  const std::uint32_t context_id = context_of(tid);
  for (const std::uint32_t pid :
       files_.children(static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(tid)))
    note(pid, context_id);
}

/// Without a list of each thread's children, all are of the one thread that has a label.
void ProcLabels::look_at_all() {
  const auto own = static_cast<std::uint32_t>(::getpid());
  if (files_.lists_children()) {
    for (const std::uint32_t tid : files_.threads(own)) look(static_cast<pid_t>(tid));
    return;
  }
  const std::uint32_t context_id = open_.empty() ? 0 : context_of(open_.rbegin()->second.tid);
  for (const std::uint32_t pid : files_.pids())
    if (const auto stat = files_.stat(pid); stat && stat->parent_pid == own) note(pid, context_id);
}

std::uint64_t ProcLabels::open(pid_t tid, std::uint32_t context_id) {
  const std::lock_guard lock(mutex_);
  if (!files_.lists_children())
    for (const auto& [serial, scope] : open_)
      if (scope.tid != tid)
        throw Error({ErrorCode::kInvalidArgument,
                     0,
                     fmt::format("thread {} has a label already, and this kernel does not list the children of each "
                                 "thread (CONFIG_PROC_CHILDREN)",
                                 scope.tid),
                     "label one thread at a time, or use the service or root",
                     {}});
  look(tid);
  const std::uint64_t around = current(tid);
  const std::uint64_t serial = ++last_serial_;
  open_[serial] = {tid, context_id, around == kNoLabel || open_.contains(around) ? around : 0};
  threads_[tid] = serial;
  return serial;
}

bool ProcLabels::close(std::uint64_t serial) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto closed = open_.find(serial);
  if (closed == open_.end()) return false;
  // Whichever thread has resumed it.
  for (const auto& [tid, said] : threads_)
    if (said == serial) look(tid);
  const Scope scope = closed->second;
  open_.erase(closed);
  for (auto& [each, other] : open_)
    if (other.outer == serial) other.outer = other.tid == scope.tid ? scope.outer : 0;
  for (auto said = threads_.begin(); said != threads_.end();) {
    if (said->second != serial) {
      ++said;
    } else if (said->first == scope.tid && scope.outer != 0) {
      (said++)->second = scope.outer;
    } else {
      said = threads_.erase(said);
    }
  }
  return true;
} catch (...) {
  return true;
}

void ProcLabels::resume(pid_t tid, std::uint64_t serial) noexcept try {
  const std::lock_guard lock(mutex_);
  if (!open_.contains(serial)) return;
  look(tid);
  threads_[tid] = serial;
} catch (...) {
  // Without memory its children have what was said before.
}

void ProcLabels::disown(pid_t tid) noexcept try {
  const std::lock_guard lock(mutex_);
  // Before the first label there is nothing to be without.
  if (last_serial_ == 0) return;
  look(tid);
  threads_[tid] = kNoLabel;
} catch (...) {
  // Likewise.
}

bool ProcLabels::in_use() const {
  const std::lock_guard lock(mutex_);
  return last_serial_ != 0;
}

std::vector<std::uint32_t> ProcLabels::used() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> used;
  for (const auto& [serial, scope] : open_) used.push_back(scope.context_id);
  for (const Child& child : new_) used.push_back(child.context_id);
  return used;
}

std::vector<ProcLabels::Child> ProcLabels::take_new() {
  const std::lock_guard lock(mutex_);
  look_at_all();
  std::erase_if(known_, [this](const auto& each) {
    return files_.is_gone(each.first) && std::none_of(new_.begin(), new_.end(), [&](const Child& child) {
             return child.pid == each.first && child.started_ns == each.second;
           });
  });
  return std::exchange(new_, {});
}

}  // namespace tracer::internal
