// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/process.hpp>

#include "base/accounts.hpp"
#include "base/fair_room.hpp"

namespace tracer::internal {

/// The numbers by which the kernel side knows contexts. 0 stands for no labels at all. A number whose every use is over
/// is idle; once nothing living has it either, it is forgotten and may be given again. What a service's user has said,
/// by its `owner_uid`, is charged to that user. Any thread.
class ContextTable {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kRootsShare = 8;                ///< This part is kept from users.
  static constexpr std::size_t kMostBytesOfUsers = 64u << 20;  ///< Texts of all users.
  static constexpr std::size_t kMostBytesUnasked = 1u
                                                   << 20;  ///< With more of a user's, it is asked what is still used.

  explicit ContextTable(std::size_t capacity)
      : capacity_(capacity), count_(std::max<std::size_t>(capacity - capacity / kRootsShare, 1)) {}

  /// Before users say anything.
  void use(std::shared_ptr<Accounts> accounts) { accounts_ = std::move(accounts); }

  /// The number of these labels, as bound() leaves them; new ones get a free one. Counts as a use. Throws Error:
  /// kInvalidArgument when the table is full, kServiceRefused when that is so for the user.
  std::uint32_t number_of(const Context& context);
  /// The number that an earlier process gave these labels, which something living may have. Before all others, and each
  /// once. False: there is no such number.
  bool restore(std::uint32_t number, const Context& context);
  /// Called, with the table locked, with each number that gets labels, and without them when it has none any more.
  /// Before start.
  void when_changed(std::function<void(std::uint32_t number, const Context* context)> changed) {
    changed_ = std::move(changed);
  }
  /// One use is over: from now on only what lives already has the number. `position`: all that the source has noticed
  /// by now is before it.
  void give_back(std::uint32_t number, std::uint64_t position) noexcept;
  /// Likewise, where what the use was for has failed: nothing has got the number by it.
  void take_back(std::uint32_t number, std::uint64_t position) noexcept;
  /// Null for a number that was not given. A number that was forgotten may mean something else later.
  std::shared_ptr<const Context> at(std::uint32_t number) const;
  bool is_full() const;
  /// Whether number_of() would refuse it.
  bool has_room(const Context& context) const;
  /// Numbers are idle, and so many are taken, or by one user, that some should be free again.
  bool is_crowded() const;

  /// Idle numbers of which a source that has come to `position` has yielded all, since `before` at least: the oldest
  /// ones, and no more than make half of the table free, and those of users who have more than half of their share.
  std::vector<std::uint32_t> idle(std::uint64_t position, Clock::time_point before) const;
  /// Nothing living had these. Returns those of which that was known before, by a call that was made before `before`:
  /// what was on its way then has arrived. `position` as in give_back().
  std::vector<std::uint32_t> settled(std::span<const std::uint32_t> unused, std::uint64_t reached,
                                     std::uint64_t position, Clock::time_point before);
  /// The number is free, unless it is in use again. `clear` is called before: what belongs to the number is gone when
  /// anybody gets it next.
  bool forget(std::uint32_t number, const std::function<void()>& clear = {});

 private:
  using Numbers = std::map<Context, std::uint32_t>;
  struct Numbered {
    std::shared_ptr<const Context> stamped;  ///< Null: the number is free.
    Numbers::const_iterator key;
    std::size_t uses = 0;
    std::uint64_t idle_position = 0;  ///< While there are no uses.
    Clock::time_point idle_since = {};
    bool seen_unused = false;        ///< By settled().
    bool was_held = false;           ///< Something may have got the number.
    std::optional<uid_t> user = {};  ///< Whose account is charged; absent: nobody's.
    std::size_t bytes = 0;
  };
  enum class Refusal : std::uint8_t { kNone, kUser, kFull };

  /// With the number's room made.
  Numbered& keep(std::uint32_t number, const Context& context);
  void become_idle(Numbered& numbered, std::uint64_t position);
  void end_use(std::uint32_t number, std::uint64_t position, bool was_held) noexcept;
  void free(std::uint32_t number);
  Refusal judge(const Context& context) const;
  /// More than half of what the user may have is taken.
  bool is_crowded_for(const std::optional<uid_t>& user) const;
  std::size_t taken() const { return contexts_.size() - free_.size(); }

  mutable std::mutex mutex_;
  std::size_t capacity_;
  std::function<void(std::uint32_t number, const Context* context)> changed_ = {};
  Numbers numbers_;
  std::vector<Numbered> contexts_{{Process::no_context(), {}, 1}};
  std::vector<std::uint32_t> free_;
  std::shared_ptr<Accounts> accounts_ = std::make_shared<Accounts>();
  FairRoom count_;  ///< Of users.
  FairRoom bytes_{kMostBytesOfUsers};
  std::set<std::uint32_t> idle_;
};

}  // namespace tracer::internal
