// SPDX-License-Identifier: Apache-2.0
#include "base/user_threads.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/cpu_shares.hpp"
#include "base/quiet_thread.hpp"

namespace tracer::internal {
namespace {

using Clock = CpuShares::Clock;

constexpr std::chrono::milliseconds kBetweenTries{100};
constexpr std::chrono::milliseconds kLastPatience{100};

}  // namespace

struct UserThreads::State {
  explicit State(std::size_t most) : most_threads(most) { threads.reserve(most); }

  /// Whose turn it is. Absent: nobody's, before `wake`.
  std::optional<std::pair<uid_t, Job>> next(std::optional<Clock::time_point>& wake) {
    const auto now = Clock::now();
    for (auto turn = turns.begin(); turn != turns.end(); ++turn) {
      const uid_t user = *turn;
      if (busy.contains(user)) continue;
      if (const auto until = shares.rests_until(user, now)) {
        wake = std::min(wake.value_or(*until), *until);
        continue;
      }
      turns.erase(turn);
      auto& of_user = waiting[user];
      Job job = std::move(of_user.front());
      of_user.pop_front();
      if (of_user.empty()) {
        waiting.erase(user);
      } else {
        turns.push_back(user);
      }
      return std::pair(user, std::move(job));
    }
    return std::nullopt;
  }

  const std::size_t most_threads;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<uid_t> turns;  ///< Users for whom something waits.
  std::map<uid_t, std::deque<Job>> waiting;
  std::set<uid_t> busy;  ///< Users for whom a thread does something.
  CpuShares shares;
  std::vector<std::thread> threads;
  std::size_t running = 0;  ///< Threads that have not ended.
  bool over = false;
  std::atomic<bool> misses_threads = false;
  Clock::time_point next_try{};
};

UserThreads::UserThreads(std::size_t most_threads) : state_(std::make_shared<State>(most_threads)) {}

UserThreads::~UserThreads() {
  std::unique_lock lock(state_->mutex);
  state_->over = true;
  state_->turns.clear();
  state_->waiting.clear();
  state_->changed.notify_all();
  const bool ended = state_->changed.wait_for(lock, kLastPatience, [&] { return state_->running == 0; });
  std::vector<std::thread> threads = std::exchange(state_->threads, {});
  lock.unlock();
  for (std::thread& each : threads) {
    if (ended) {
      each.join();
    } else {
      each.detach();
    }
  }
}

void UserThreads::work(const std::shared_ptr<State>& state) {
  // Who traces goes ahead of what is traced; who asks for a user does not.
  if (::getpriority(PRIO_PROCESS, 0) < 0) ::setpriority(PRIO_PROCESS, 0, 0);
  std::unique_lock lock(state->mutex);
  while (!state->over) {
    std::optional<Clock::time_point> wake;
    auto turn = state->next(wake);
    if (!turn) {
      if (wake) {
        state->changed.wait_until(lock, *wake);
      } else {
        state->changed.wait(lock);
      }
      continue;
    }
    auto& [user, job] = *turn;
    state->busy.insert(user);
    lock.unlock();
    const auto before = cpu_time_of_this_thread();
    try {
      job();
    } catch (...) {
      // Out of memory: whoever waits for it gets no answer.
    }
    job = {};
    const auto used = cpu_time_of_this_thread() - before;
    lock.lock();
    state->busy.erase(user);
    const auto now = Clock::now();
    state->shares.charge(user, used, now);
    state->shares.forget_idle(now);
    if (state->waiting.contains(user)) state->changed.notify_one();
  }
  --state->running;
  state->changed.notify_all();
}

void UserThreads::add(uid_t user, Job job) {
  const std::lock_guard lock(state_->mutex);
  auto& of_user = state_->waiting[user];
  if (of_user.empty()) state_->turns.push_back(user);
  of_user.push_back(std::move(job));
  start_missing();
  state_->changed.notify_one();
}

void UserThreads::retry() {
  if (!state_->misses_threads) return;
  const std::lock_guard lock(state_->mutex);
  start_missing();
}

/// With the lock held.
void UserThreads::start_missing() {
  const auto is_ready = [this](uid_t user) { return !state_->busy.contains(user); };
  const auto ready = static_cast<std::size_t>(std::count_if(state_->turns.begin(), state_->turns.end(), is_ready));
  const auto has_enough = [&] {
    return state_->threads.size() >= std::min(state_->busy.size() + ready, state_->most_threads);
  };
  if (has_enough()) {
    state_->misses_threads = false;
    return;
  }
  // Each try is a system call, and fails for as long as the host has no process to spare.
  const auto now = Clock::now();
  if (state_->misses_threads && now < state_->next_try) return;
  try {
    while (!has_enough()) {
      state_->threads.push_back(start_quiet_thread([state = state_] { work(state); }));
      ++state_->running;
    }
    state_->misses_threads = false;
  } catch (const std::exception&) {
    state_->misses_threads = true;
    state_->next_try = now + kBetweenTries;
  }
}

}  // namespace tracer::internal
