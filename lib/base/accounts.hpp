// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/user_ids.hpp"

namespace tracer::internal {

/// The bytes that each user makes a session keep, over all its tables, and what each user has lost, by cause. A
/// subordinate user id is charged to the user whose it is; ids of which nobody knows whose they are share one account.
/// Any thread.
class Accounts {
 public:
  struct Account {
    std::size_t bytes = 0;
    std::map<std::string_view, std::uint64_t> lost = {};  ///< By cause: a text that lives as long as the program.
  };
  static constexpr auto kUnknownUser = static_cast<uid_t>(-1);

  explicit Accounts(UserIds user_ids = UserIds()) : user_ids_(std::move(user_ids)) {}

  /// Before the first charge.
  void use(UserIds user_ids) { user_ids_ = std::move(user_ids); }
  /// Whose account is charged for what `uid` does. Absent: what is nobody's is root's.
  uid_t user_of(const std::optional<uid_t>& uid) const noexcept {
    return uid ? user_ids_.user_of(*uid).value_or(kUnknownUser) : 0;
  }

  void hold(uid_t user, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    accounts_[user].bytes += bytes;
  }
  void release(uid_t user, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    const auto account = accounts_.find(user);
    if (account == accounts_.end()) return;
    account->second.bytes -= bytes;
    // A user who holds nothing and has lost nothing needs no account.
    if (account->second.bytes == 0 && account->second.lost.empty()) accounts_.erase(account);
  }
  void note_lost(uid_t user, std::string_view cause, std::uint64_t count = 1) {
    const std::lock_guard lock(mutex_);
    accounts_[user].lost[cause] += count;
  }

  std::map<uid_t, Account> all() const {
    const std::lock_guard lock(mutex_);
    return accounts_;
  }
  /// Adds what all users have lost, by cause.
  void count_losses(std::map<std::string, std::uint64_t>& losses) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [user, account] : accounts_)
      for (const auto& [cause, count] : account.lost) losses[std::string(cause)] += count;
  }

 private:
  UserIds user_ids_;
  mutable std::mutex mutex_;
  std::map<uid_t, Account> accounts_;
};

}  // namespace tracer::internal
