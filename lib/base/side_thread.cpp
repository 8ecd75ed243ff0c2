// SPDX-License-Identifier: Apache-2.0
#include "base/side_thread.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/quiet_thread.hpp"

namespace tracer::internal {

struct SideThread::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  bool busy = false;
  bool over = false;
  bool ended = false;
};

SideThread::SideThread() : state_(std::make_shared<State>()) {}

SideThread::~SideThread() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
  const bool ended = state_->changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return state_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void SideThread::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->over || !state->waiting.empty(); });
    if (state->over) break;
    {
      const std::function<void()> job = std::move(state->waiting.front());
      state->waiting.pop_front();
      state->busy = true;
      lock.unlock();
      try {
        job();
      } catch (...) {
        // Out of memory: whoever waits for it gets no answer.
      }
    }
    lock.lock();
    state->busy = false;
  }
  state->ended = true;
  state->changed.notify_all();
}

void SideThread::add(std::function<void()> job) {
  if (!thread_.joinable()) thread_ = start_quiet_thread([state = state_] { work(state); });
  const std::lock_guard lock(state_->mutex);
  state_->waiting.push_back(std::move(job));
  state_->changed.notify_all();
}

bool SideThread::is_idle() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->busy && state_->waiting.empty();
}

}  // namespace tracer::internal
