// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/accounts.hpp"
#include "base/fair_room.hpp"
#include "serve/limits.hpp"

namespace tracer::internal {

/// What is charged to a user before it is taken.
enum class Charged : std::uint8_t { kConnections, kSubscriptions, kLabels, kBytes };
inline constexpr std::size_t kChargedKinds = 4;

/// What each user holds of a service. One thread.
class Charges {
 public:
  static constexpr std::size_t kConnectionsOfRoot = 16;  ///< That are kept from users.

  struct Account {
    std::array<std::size_t, kChargedKinds> held{};
    std::uint64_t dropped_events = 0;  ///< That clients read too slowly.
    std::uint64_t lost_events = 0;     ///< By the service's own queue.
    std::uint64_t refused = 0;

    std::size_t of(Charged kind) const noexcept { return held[static_cast<std::size_t>(kind)]; }
  };

  explicit Charges(const ServeLimits& limits, std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>())
      : bytes_of_user_(limits.bytes_of_user),
        accounts_of_session_(std::move(accounts)),
        connections_(limits.connections - std::min(limits.connections, kConnectionsOfRoot)),
        labels_(ServeLimits::kLabels) {}

  /// False: the user may not hold so much more. Root may: it can do any harm by itself.
  bool take(uid_t uid, Charged kind, std::size_t count) {
    const uid_t user = charged(uid);
    Account& account = accounts_[user];
    if (uid != 0 && !has_room(user, account, kind, count)) {
      ++account.refused;
      return false;
    }
    if (FairRoom* const room = room_of(kind)) room->hold(user, count);
    account.held[static_cast<std::size_t>(kind)] += count;
    return true;
  }
  void give_back(uid_t uid, Charged kind, std::size_t count) noexcept {
    const auto account = accounts_.find(charged(uid));
    if (account == accounts_.end()) return;
    if (FairRoom* const room = room_of(kind)) room->give_back(account->first, count);
    account->second.held[static_cast<std::size_t>(kind)] -= count;
    // Who holds nothing and lost nothing is nobody to remember.
    if (account->second.held == std::array<std::size_t, kChargedKinds>{} && account->second.lost_events == 0)
      accounts_.erase(account);
  }
  void note_refused(uid_t uid) { ++accounts_[charged(uid)].refused; }
  void note_dropped(uid_t uid, std::uint64_t events) { accounts_[charged(uid)].dropped_events += events; }
  void note_lost(uid_t uid, std::uint64_t events) { accounts_[charged(uid)].lost_events += events; }
  /// Of the bytes that one user may hold.
  std::size_t bytes_left(uid_t uid) const noexcept {
    const auto account = accounts_.find(charged(uid));
    const std::size_t held = account == accounts_.end() ? 0 : account->second.of(Charged::kBytes);
    return bytes_of_user_ - std::min(bytes_of_user_, held);
  }
  const std::map<uid_t, Account>& accounts() const noexcept { return accounts_; }
  /// Whose account it is: that of the user to whom a subordinate id belongs.
  uid_t charged(uid_t uid) const noexcept { return accounts_of_session_->user_of(uid); }

 private:
  FairRoom* room_of(Charged kind) noexcept {
    return kind == Charged::kConnections ? &connections_ : kind == Charged::kLabels ? &labels_ : nullptr;
  }
  bool has_room(uid_t user, const Account& account, Charged kind, std::size_t count) noexcept {
    if (const FairRoom* const room = room_of(kind)) return room->has(user, count);
    // A subscription is charged in bytes.
    if (kind != Charged::kBytes) return true;
    const std::size_t held = account.of(kind);
    return count <= bytes_of_user_ - std::min(bytes_of_user_, held);
  }

  const std::size_t bytes_of_user_;
  const std::shared_ptr<Accounts> accounts_of_session_;
  FairRoom connections_;
  FairRoom labels_;
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
