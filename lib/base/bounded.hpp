// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/accounts.hpp"

namespace tracer::internal {

/// A table whose rows users can make. A row is charged in bytes to its owner's account before it is kept. Where the
/// table is full, the user who holds most of it loses the oldest row, which is counted by user and cause. Rows stay at
/// their addresses. One thread.
template <class Key, class Row, class Hash = std::hash<Key>>
class Bounded {
  struct Kept;
  using Rows = std::unordered_map<Key, Kept, Hash>;

 public:
  /// Called with each row that is lost, before it is gone; must not change the table.
  using Lost = std::function<void(const Key&, Row&)>;

  /// `cause`: of the losses; a text that lives as long as the program. Empty: rows of the past go without a loss.
  Bounded(std::size_t most_bytes, std::string_view cause,
          std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>(), Lost lost = {})
      : most_bytes_(most_bytes), cause_(cause), accounts_(std::move(accounts)), lost_(std::move(lost)) {}
  Bounded(const Bounded&) = delete;
  Bounded& operator=(const Bounded&) = delete;
  ~Bounded() { clear(); }

  /// While it is empty.
  void use(std::shared_ptr<Accounts> accounts) { accounts_ = std::move(accounts); }

  Row* find(const Key& key) {
    const auto row = rows_.find(key);
    return row == rows_.end() ? nullptr : &row->second.row;
  }
  const Row* find(const Key& key) const {
    const auto row = rows_.find(key);
    return row == rows_.end() ? nullptr : &row->second.row;
  }
  bool contains(const Key& key) const { return rows_.contains(key); }
  std::size_t size() const noexcept { return rows_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }
  bool empty() const noexcept { return rows_.empty(); }
  /// That the rows of this owner take.
  std::size_t bytes_of(const std::optional<uid_t>& owner) const {
    const auto holder = holders_.find(accounts_->user_of(owner));
    return holder == holders_.end() ? 0 : holder->second.bytes;
  }

  /// A new row in place of one with this key. `bytes`: that it takes beside itself. Null: it is larger than the table,
  /// and counted as lost.
  Row* put(const Key& key, const std::optional<uid_t>& owner, std::size_t bytes, Row row) {
    erase(key);
    return put_of(key, accounts_->user_of(owner), bytes + kRowBytes, std::move(row));
  }
  /// The row has another key from now on. What has that key already stays; the row is returned then.
  std::optional<Row> rename(const Key& from, const Key& to) {
    const auto found = rows_.find(from);
    return found == rows_.end() ? std::nullopt : rename(found, to, found->second.user);
  }
  /// Likewise, and is another's.
  std::optional<Row> rename(const Key& from, const Key& to, const std::optional<uid_t>& owner) {
    const auto found = rows_.find(from);
    return found == rows_.end() ? std::nullopt : rename(found, to, accounts_->user_of(owner));
  }
  /// The row takes so many bytes now beside itself. False: it can't grow so much, and is charged as before.
  bool charge(const Key& key, std::size_t bytes) {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return false;
    Kept& kept = found->second;
    const std::size_t charged = bytes + kRowBytes;
    if (charged > kept.bytes) {
      if (!make_room(kept.user, charged - kept.bytes, &*found)) return false;
      accounts_->hold(kept.user, charged - kept.bytes);
    } else {
      accounts_->release(kept.user, kept.bytes - charged);
    }
    Holder& holder = holders_[kept.user];
    holder.bytes += charged - kept.bytes;
    bytes_ += charged - kept.bytes;
    kept.bytes = charged;
    return true;
  }
  void erase(const Key& key) {
    const auto found = rows_.find(key);
    if (found != rows_.end()) erase(found);
  }
  template <class If>
  void erase_if(const If& condition) {
    for (auto each = rows_.begin(); each != rows_.end();) {
      const auto next = std::next(each);
      if (condition(each->first, each->second.row)) erase(each);
      each = next;
    }
  }
  void clear() {
    for (const auto& [user, holder] : holders_) accounts_->release(user, holder.bytes);
    holders_.clear();
    rows_.clear();
    bytes_ = 0;
  }

  /// Calls `visit(key, row)`.
  template <class Visit>
  void each(const Visit& visit) {
    for (auto& [key, kept] : rows_) visit(key, kept.row);
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& [key, kept] : rows_) visit(key, kept.row);
  }

 private:
  using Pair = std::pair<const Key, Kept>;
  using Order = std::list<Pair*>;
  struct Kept {
    Kept(Row made, uid_t whose, std::size_t charged) : row(std::move(made)), user(whose), bytes(charged) {}
    Row row;
    uid_t user;
    std::size_t bytes;
    typename Order::iterator place = {};
  };
  struct Holder {
    std::size_t bytes = 0;
    Order rows = {};  ///< The oldest first.
  };
  /// With what the tables and the allocator add.
  static constexpr std::size_t kRowBytes = sizeof(Pair) + 96;

  std::optional<Row> rename(typename Rows::iterator found, const Key& to, uid_t user) {
    if (found->first == to) return std::nullopt;
    const std::size_t charged = found->second.bytes;
    Row row = std::move(found->second.row);
    erase(found);
    if (rows_.contains(to)) return row;
    put_of(to, user, charged, std::move(row));
    return std::nullopt;
  }
  Row* put_of(const Key& key, uid_t user, std::size_t charged, Row row) {
    if (!make_room(user, charged, nullptr)) {
      note_lost(user);
      return nullptr;
    }
    Holder& holder = holders_[user];
    const auto made = rows_.try_emplace(key, std::move(row), user, charged).first;
    made->second.place = holder.rows.insert(holder.rows.end(), &*made);
    holder.bytes += charged;
    bytes_ += charged;
    accounts_->hold(user, charged);
    return &made->second.row;
  }
  /// False: nothing but `stays`, or nobody who holds as much, could lose something for it.
  bool make_room(uid_t user, std::size_t bytes, const Pair* stays) {
    if (bytes > most_bytes_) return false;
    while (bytes_ + bytes > most_bytes_) {
      const auto most = std::max_element(holders_.begin(), holders_.end(), [&](const auto& one, const auto& other) {
        const auto held = [&](const auto& each) { return each.second.bytes + (each.first == user ? bytes : 0); };
        return held(one) < held(other);
      });
      if (most == holders_.end()) return false;
      // A user without a row may be the one who would hold most.
      if (!holders_.contains(user) && bytes > most->second.bytes) return false;
      auto oldest = most->second.rows.begin();
      if (oldest != most->second.rows.end() && *oldest == stays) ++oldest;
      if (oldest == most->second.rows.end()) return false;
      note_lost(most->first);
      if (lost_) lost_((*oldest)->first, (*oldest)->second.row);
      erase(rows_.find((*oldest)->first));
    }
    return true;
  }
  void note_lost(uid_t user) {
    if (!cause_.empty()) accounts_->note_lost(user, cause_);
  }
  void erase(typename Rows::iterator found) {
    const Kept& kept = found->second;
    const auto holder = holders_.find(kept.user);
    accounts_->release(kept.user, kept.bytes);
    holder->second.bytes -= kept.bytes;
    bytes_ -= kept.bytes;
    holder->second.rows.erase(kept.place);
    if (holder->second.rows.empty()) holders_.erase(holder);
    rows_.erase(found);
  }

  const std::size_t most_bytes_;
  const std::string_view cause_;
  std::shared_ptr<Accounts> accounts_;
  Lost lost_;
  Rows rows_;
  std::map<uid_t, Holder> holders_;
  std::size_t bytes_ = 0;
};

}  // namespace tracer::internal
