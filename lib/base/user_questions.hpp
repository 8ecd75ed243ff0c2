// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/patience.hpp"
#include "base/user_threads.hpp"

namespace tracer::internal {

/// Questions about what users keep in files, answered beside the events: files may hang, and what is in them may be
/// large. Each is one user's, and answered as UserThreads does it. Asked by one thread.
template <class Key, class Answer>
class UserQuestions {
 public:
  static constexpr std::size_t kMostThreads = 8;    ///< As many users' files may hang.
  static constexpr std::size_t kMostOfUser = 1024;  ///< That are open, or whose answers nobody has taken.

  UserQuestions() : state_(std::make_shared<State>()) {}

  /// Asks, unless this is asked already, and waits for a moment. `answer` owns all that it uses. False: too many of the
  /// user's are open. Before that, the user loses the answers that nobody took.
  bool ask(const Key& key, uid_t user, std::function<Answer()> answer) {
    std::unique_lock lock(state_->mutex);
    if (state_->asked.contains(key)) return true;
    if (state_->of_user[user].most() >= kMostOfUser)
      state_->erase_if([user](const Asked& each) { return each.user == user && each.answer; });
    OfUser& of_user = state_->of_user[user];
    if (of_user.most() >= kMostOfUser) return false;
    const auto asked = state_->asked.emplace(key, Asked{user, ++last_, std::nullopt}).first;
    ++of_user.asked;
    const bool first = ++of_user.open == 1;
    threads_.add(user, [state = state_, key, user, number = last_, answer = std::move(answer)] {
      std::optional<Answer> made;
      try {
        made = answer();
      } catch (...) {
        // Out of memory: as if there were nothing.
        made.emplace();
      }
      const std::lock_guard answered(state->mutex);
      --state->of_user[user].open;
      state->forget(user);
      const auto found = state->asked.find(key);
      // It may have been forgotten, and asked again.
      if (found != state->asked.end() && found->second.number == number) found->second.answer = std::move(made);
      state->changed.notify_all();
    });
    const auto began = Patience::Clock::now();
    const Patience::Time most = first ? patience_.left(user, began) : Patience::Time(0);
    if (most == Patience::Time(0)) return true;
    const bool is_there = state_->changed.wait_for(lock, most, [&] { return asked->second.answer.has_value(); });
    patience_.waited(user, Patience::Clock::now() - began, !is_there);
    return true;
  }
  /// Absent: it is not there yet, or was taken already.
  std::optional<Answer> take(const Key& key) {
    threads_.retry();
    const std::lock_guard lock(state_->mutex);
    const auto asked = state_->asked.find(key);
    if (asked == state_->asked.end() || !asked->second.answer) return std::nullopt;
    std::optional<Answer> answer = std::move(asked->second.answer);
    state_->erase(asked);
    return answer;
  }
  /// Nobody will take it.
  void forget(const Key& key) {
    const std::lock_guard lock(state_->mutex);
    if (const auto asked = state_->asked.find(key); asked != state_->asked.end()) state_->erase(asked);
  }
  /// As UserThreads::retry().
  void retry() { threads_.retry(); }

 private:
  struct Asked {
    uid_t user = 0;
    std::uint64_t number = 0;
    std::optional<Answer> answer;  ///< Absent: not yet.
  };
  struct OfUser {
    std::size_t asked = 0;
    std::size_t open = 0;  ///< Without an answer, also those that were forgotten.
    std::size_t most() const noexcept { return std::max(asked, open); }
  };
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<Key, Asked> asked;
    std::map<uid_t, OfUser> of_user;

    void forget(uid_t user) {
      const auto found = of_user.find(user);
      if (found != of_user.end() && found->second.asked == 0 && found->second.open == 0) of_user.erase(found);
    }
    auto erase(typename std::map<Key, Asked>::iterator one) {
      const uid_t user = one->second.user;
      --of_user[user].asked;
      const auto next = asked.erase(one);
      forget(user);
      return next;
    }
    template <class If>
    void erase_if(const If& condition) {
      for (auto each = asked.begin(); each != asked.end();)
        each = condition(each->second) ? erase(each) : std::next(each);
    }
  };

  std::shared_ptr<State> state_;
  UserThreads threads_{kMostThreads};
  Patience patience_;
  std::uint64_t last_ = 0;
};

}  // namespace tracer::internal
