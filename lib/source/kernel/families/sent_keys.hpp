// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace tracer::internal {

/// Which sums that the kernel keeps for a process, or a program, user space has heard of: at its end it asks for the
/// rest. Bounded.
template <class Key, class Row>
class SentKeys {
 public:
  using Owner = std::pair<std::uint32_t, std::uint64_t>;  ///< Pid, and when the process or program began.
  struct Sent {
    std::uint32_t kernel_pid = 0;
    std::map<Key, Row> keys;  ///< With what was last said of its row.
    bool ended = false;
  };

  explicit SentKeys(std::size_t most) : most_(most) {}

  /// False: there are too many.
  bool remember(const Owner& owner, std::uint32_t kernel_pid, const Key& key, const Row& row) {
    const auto found = sent_.find(owner);
    const bool is_new = found == sent_.end() || !found->second.keys.contains(key);
    if (is_new && count_ >= most_) return false;
    Sent& sent = sent_[owner];
    sent.kernel_pid = kernel_pid;
    sent.keys.insert_or_assign(key, row);
    count_ += is_new;
    return true;
  }
  /// Takes what did not live on at the last call, nor does now: its end, which may be on its way for a while, was lost.
  template <class Lives>
  std::map<Owner, Sent> take_unless(const Lives& lives) {
    std::map<Owner, Sent> gone;
    for (auto each = sent_.begin(); each != sent_.end();) {
      const auto next = std::next(each);
      const bool lives_on = lives(each->first.first);
      if (!lives_on && !std::exchange(each->second.ended, true)) {
        each = next;
        continue;
      }
      if (!lives_on) {
        count_ -= each->second.keys.size();
        gone.insert(sent_.extract(each));
      }
      each = next;
    }
    return gone;
  }
  bool contains(const Owner& owner, const Key& key) const {
    const auto found = sent_.find(owner);
    return found != sent_.end() && found->second.keys.contains(key);
  }
  bool nearly_full() const noexcept { return count_ > most_ / 2; }
  /// Empty: none.
  Sent take(const Owner& owner) {
    const auto found = sent_.find(owner);
    if (found == sent_.end()) return {};
    Sent sent = std::move(found->second);
    sent_.erase(found);
    count_ -= sent.keys.size();
    return sent;
  }
  const std::map<Owner, Sent>& all() const noexcept { return sent_; }
  void clear() noexcept {
    sent_.clear();
    count_ = 0;
  }

 private:
  std::size_t most_;
  std::size_t count_ = 0;
  std::map<Owner, Sent> sent_;
};

}  // namespace tracer::internal
