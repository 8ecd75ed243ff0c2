// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>

namespace tracer::internal {

/// Room that users share and that nobody can be made to give back: a user may hold as much as is left free. So the next
/// user always finds some, whatever the others hold.
class FairRoom {
 public:
  explicit FairRoom(std::size_t most) : most_(most) {}

  /// Whether the user may hold so much more.
  bool has(uid_t user, std::size_t amount) const {
    if (amount > most_ || all_ > most_ - amount) return false;
    return of(user) + amount <= most_ - all_ - amount;
  }
  /// Whether more than half of what the user may hold is taken.
  bool is_crowded_for(uid_t user) const { return all_ >= most_ || 2 * of(user) > most_ - all_; }
  void hold(uid_t user, std::size_t amount) {
    held_[user] += amount;
    all_ += amount;
  }
  void give_back(uid_t user, std::size_t amount) noexcept {
    const auto held = held_.find(user);
    if (held == held_.end()) return;
    all_ -= amount;
    if ((held->second -= amount) == 0) held_.erase(held);
  }
  std::size_t of(uid_t user) const {
    const auto held = held_.find(user);
    return held == held_.end() ? 0 : held->second;
  }
  std::size_t all() const noexcept { return all_; }
  std::size_t most() const noexcept { return most_; }

 private:
  const std::size_t most_;
  std::size_t all_ = 0;
  std::map<uid_t, std::size_t> held_;
};

}  // namespace tracer::internal
