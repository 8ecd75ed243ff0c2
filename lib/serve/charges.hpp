// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/user_ids.hpp"
#include "serve/limits.hpp"

namespace tracer::internal {

/// What is charged to a user before it is taken.
enum class Charged : std::uint8_t { kConnections, kSubscriptions, kLabels, kBytes };
inline constexpr std::size_t kChargedKinds = 4;

/// What each user holds of a service. One thread.
class Charges {
 public:
  struct Account {
    std::array<std::size_t, kChargedKinds> held{};
    std::uint64_t dropped_events = 0;
    std::uint64_t refused = 0;

    std::size_t of(Charged kind) const noexcept { return held[static_cast<std::size_t>(kind)]; }
  };

  /// Subordinate user ids are charged to the user whose they are: there are many of them.
  explicit Charges(const ServeLimits& limits, UserIds user_ids = UserIds())
      : limits_{limits.connections_of_user, limits.subscriptions_of_user, limits.labels_of_user, limits.bytes_of_user},
        user_ids_(std::move(user_ids)) {}

  /// False: that would be more than one user may hold. Root may hold more: it can do any harm by itself.
  bool take(uid_t uid, Charged kind, std::size_t count) {
    Account& account = accounts_[charged(uid)];
    std::size_t& held = account.held[static_cast<std::size_t>(kind)];
    if (uid != 0 && count > limits_[static_cast<std::size_t>(kind)] - std::min(held, limit(kind))) {
      ++account.refused;
      return false;
    }
    held += count;
    return true;
  }
  void give_back(uid_t uid, Charged kind, std::size_t count) noexcept {
    const auto account = accounts_.find(charged(uid));
    if (account == accounts_.end()) return;
    account->second.held[static_cast<std::size_t>(kind)] -= count;
    // Who holds nothing and lost nothing is nobody to remember.
    if (account->second.held == std::array<std::size_t, kChargedKinds>{}) accounts_.erase(account);
  }
  void note_refused(uid_t uid) { ++accounts_[charged(uid)].refused; }
  void note_dropped(uid_t uid, std::uint64_t events) { accounts_[charged(uid)].dropped_events += events; }
  std::size_t limit(Charged kind) const noexcept { return limits_[static_cast<std::size_t>(kind)]; }
  const std::map<uid_t, Account>& accounts() const noexcept { return accounts_; }

  const UserIds& user_ids() const noexcept { return user_ids_; }
  /// Whose account it is.
  uid_t charged(uid_t uid) const noexcept { return user_ids_.user_of(uid).value_or(uid); }

 private:
  std::array<std::size_t, kChargedKinds> limits_;
  UserIds user_ids_;
  std::map<uid_t, Account> accounts_;
};

/// A number of bytes that is charged as long as this lives, and can grow and shrink.
class ByteCharge {
 public:
  ByteCharge(Charges& charges, uid_t uid) noexcept : charges_(&charges), uid_(uid) {}
  ByteCharge(const ByteCharge&) = delete;
  ByteCharge& operator=(const ByteCharge&) = delete;
  ~ByteCharge() { set(0); }

  /// False: as before; to hold less is always possible.
  bool set(std::size_t bytes) {
    if (bytes > bytes_ && !charges_->take(uid_, Charged::kBytes, bytes - bytes_)) return false;
    if (bytes < bytes_) charges_->give_back(uid_, Charged::kBytes, bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  Charges* charges_;
  uid_t uid_;
  std::size_t bytes_ = 0;
};

}  // namespace tracer::internal
