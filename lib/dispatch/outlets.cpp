// SPDX-License-Identifier: Apache-2.0
#include "dispatch/outlets.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace tracer::internal {
void Outlets::add(std::shared_ptr<QueueState> queue, std::span<const Event> first) {
  queue->push(first, hurry_);
  const std::lock_guard lock(mutex_);
  if (ended_) queue->end();
  queues_.push_back(std::move(queue));
  ++added_;
}

void Outlets::add(std::shared_ptr<SinkRunner> sink, std::span<const Event> first) {
  add(sink->queue(), first);
  const std::lock_guard lock(mutex_);
  for (const auto& each : sinks_)
    if (each->closed()) closed_cpu_ns_ += each->cpu_ns();
  std::erase_if(sinks_, [](const auto& each) { return each->closed(); });
  sinks_.push_back(std::move(sink));
}

/// A copy, so that no lock is held while they are filled; those that nobody reads any more are left out.
std::vector<std::shared_ptr<QueueState>> Outlets::queues() {
  const std::lock_guard lock(mutex_);
  std::erase_if(queues_, [](const auto& queue) { return queue->abandoned(); });
  return queues_;
}

std::size_t Outlets::deliver(std::span<const Event> events) noexcept {
  std::size_t failed = push(events, 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint64_t before = added_.load();
    events_.add(1);
    dispatcher_.dispatch(events[i]);
    // Those that were added meanwhile have what comes from now on.
    if (added_.load() != before) failed += push(events.subspan(i + 1), added_.load() - before);
  }
  return failed;
}

/// To all queues, or to the newest ones only. Returns how many had no memory for them.
std::size_t Outlets::push(std::span<const Event> events, std::uint64_t newest) noexcept {
  std::size_t failed = 0;
  try {
    const auto all = queues();
    const std::size_t first = newest == 0 ? 0 : all.size() - std::min<std::size_t>(all.size(), newest);
    for (std::size_t i = first; i < all.size(); ++i) {
      try {
        all[i]->push(events, hurry_);
      } catch (...) {
        ++failed;
      }
    }
  } catch (...) {
    ++failed;
  }
  return failed;
}

void Outlets::end() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (const auto& queue : queues_) queue->end();
}

std::vector<std::shared_ptr<SinkRunner>> Outlets::sinks() const {
  const std::lock_guard lock(mutex_);
  return sinks_;
}

void Outlets::wait_for_sinks(std::chrono::steady_clock::time_point until) noexcept try {
  constexpr std::chrono::milliseconds kPeriod{1};
  for (const auto& sink : sinks()) {
    const QueueState& queue = *sink->queue();
    while (queue.ready() && !queue.ended() && !queue.abandoned() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(kPeriod);
  }
} catch (...) {
  // Without memory for a list of them nobody waits.
}

void Outlets::finish_sinks() noexcept {
  const std::lock_guard one_at_a_time(finishing_);
  const auto sinks = this->sinks();
  const auto until = std::chrono::steady_clock::now() + SinkRunner::kMostWait;
  for (const auto& sink : sinks) sink->finish(until);
}

std::uint64_t Outlets::sinks_cpu_ns() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = closed_cpu_ns_;
  for (const auto& sink : sinks_) sum += sink->cpu_ns();
  return sum;
}

}  // namespace tracer::internal
