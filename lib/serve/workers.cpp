// SPDX-License-Identifier: Apache-2.0
#include "serve/workers.hpp"

#include <sys/resource.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/quiet_thread.hpp"
#include "base/wakeup.hpp"

namespace tracer::internal {

struct Workers::State {
  /// Of one kind: users in the order of their turns, each with what they have asked.
  struct Asked {
    std::deque<uid_t> turns;
    std::map<uid_t, std::deque<Work>> of_user;
    std::set<uid_t> busy;
    std::size_t threads = 0;
    std::size_t idle = 0;
  };

  Asked& of(Kind kind) { return asked[static_cast<std::size_t>(kind)]; }
  /// Whose turn it is; false: nobody's.
  static bool next(Asked& asked, uid_t& uid, Work& work) {
    for (auto turn = asked.turns.begin(); turn != asked.turns.end(); ++turn) {
      if (asked.busy.contains(*turn)) continue;
      uid = *turn;
      asked.turns.erase(turn);
      auto& of_user = asked.of_user[uid];
      work = std::move(of_user.front());
      of_user.pop_front();
      if (of_user.empty()) {
        asked.of_user.erase(uid);
      } else {
        asked.turns.push_back(uid);
      }
      return true;
    }
    return false;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::array<Asked, 2> asked;
  bool ended = false;
  std::vector<Rest> done;
  Wakeup wakeup;
};

Workers::Workers() : state_(std::make_shared<State>()) {}

Workers::~Workers() {
  const std::lock_guard lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
}

void Workers::ask(Kind kind, uid_t uid, Work work) {
  const std::lock_guard lock(state_->mutex);
  State::Asked& asked = state_->of(kind);
  auto& of_user = asked.of_user[uid];
  if (of_user.empty()) asked.turns.push_back(uid);
  of_user.push_back(std::move(work));
  const std::size_t most = kind == Kind::kSession ? 1 : kFileThreads;
  if (asked.idle == 0 && asked.threads < most) {
    ++asked.threads;
    // On its own: it may never end.
    start_quiet_thread([state = state_, kind] { run(state, kind); }).detach();
  }
  state_->changed.notify_all();
}

void Workers::run(const std::shared_ptr<State>& state, Kind kind) {
  // Who traces goes ahead of what is traced; who answers does not.
  if (::getpriority(PRIO_PROCESS, 0) < 0) ::setpriority(PRIO_PROCESS, 0, 0);
  std::unique_lock lock(state->mutex);
  State::Asked& asked = state->of(kind);
  while (!state->ended) {
    uid_t uid = 0;
    Work work;
    if (!State::next(asked, uid, work)) {
      ++asked.idle;
      state->changed.wait(lock);
      --asked.idle;
      continue;
    }
    asked.busy.insert(uid);
    lock.unlock();
    Rest rest = work();
    work = {};
    lock.lock();
    asked.busy.erase(uid);
    if (asked.of_user.contains(uid)) state->changed.notify_one();
    state->done.push_back(std::move(rest));
    state->wakeup.set();
  }
}

int Workers::fd() const noexcept { return state_->wakeup.fd(); }

std::vector<Workers::Rest> Workers::take_done() {
  const std::lock_guard lock(state_->mutex);
  state_->wakeup.clear();
  return std::exchange(state_->done, {});
}

}  // namespace tracer::internal
