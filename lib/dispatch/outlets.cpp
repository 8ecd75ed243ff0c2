// SPDX-License-Identifier: Apache-2.0
#include "dispatch/outlets.hpp"

#include <utility>

namespace tracer::internal {
namespace {

constexpr auto kMostWaitForSinks = std::chrono::seconds(2);

}  // namespace

void Outlets::add(std::shared_ptr<QueueState> queue) {
  const std::lock_guard lock(mutex_);
  if (ended_) queue->end();
  queues_.push_back(std::move(queue));
}

void Outlets::add(std::shared_ptr<SinkRunner> sink) {
  add(sink->queue());
  const std::lock_guard lock(mutex_);
  sinks_.push_back(std::move(sink));
}

/// A copy, so that no lock is held while they are filled; those that nobody reads any more are left out.
std::vector<std::shared_ptr<QueueState>> Outlets::queues() {
  const std::lock_guard lock(mutex_);
  std::erase_if(queues_, [](const auto& queue) { return queue->abandoned(); });
  return queues_;
}

std::size_t Outlets::deliver(std::span<const Event> events) noexcept {
  std::size_t failed = 0;
  try {
    for (const auto& queue : queues()) {
      try {
        queue->push(events);
      } catch (...) {
        ++failed;
      }
    }
  } catch (...) {
    ++failed;
  }
  for (const Event& event : events) {
    events_.add(1);
    dispatcher_.dispatch(event);
  }
  return failed;
}

void Outlets::end() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (const auto& queue : queues_) queue->end();
}

void Outlets::finish_sinks() noexcept {
  std::vector<std::shared_ptr<SinkRunner>> sinks;
  {
    const std::lock_guard lock(mutex_);
    sinks.swap(sinks_);
  }
  const auto until = std::chrono::steady_clock::now() + kMostWaitForSinks;
  for (const auto& sink : sinks) sink->finish(until);
  const std::lock_guard lock(mutex_);
  for (auto& sink : sinks) finished_cpu_ns_ += sink->cpu_ns();
}

std::uint64_t Outlets::sinks_cpu_ns() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = finished_cpu_ns_;
  for (const auto& sink : sinks_) sum += sink->cpu_ns();
  return sum;
}

}  // namespace tracer::internal
