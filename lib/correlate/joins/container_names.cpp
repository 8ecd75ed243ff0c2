// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/container_names.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace tracer::internal {

struct ContainerNames::State {
  Read read;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, std::optional<ContainerFacts>> answers;  ///< Absent: not yet.
};

ContainerNames::ContainerNames(Read read) : state_(std::make_shared<State>()) { state_->read = std::move(read); }

void ContainerNames::ask(std::uint64_t number, ContainerQuestion question) {
  const bool was_idle = thread_.is_idle();
  std::unique_lock lock(state_->mutex);
  if (state_->answers.size() >= kMostAnswers) return;
  const auto answer = state_->answers.emplace(number, std::nullopt).first;
  lock.unlock();
  thread_.add([state = state_, number, question = std::move(question)] {
    ContainerFacts facts = state->read(question);
    const std::lock_guard answered(state->mutex);
    if (const auto asked = state->answers.find(number); asked != state->answers.end()) asked->second = std::move(facts);
    state->changed.notify_all();
  });
  lock.lock();
  if (was_idle) state_->changed.wait_for(lock, kPatience, [&] { return answer->second.has_value(); });
}

std::optional<ContainerFacts> ContainerNames::take(std::uint64_t number) {
  const std::lock_guard lock(state_->mutex);
  const auto asked = state_->answers.find(number);
  if (asked == state_->answers.end() || !asked->second) return std::nullopt;
  std::optional<ContainerFacts> facts = std::move(asked->second);
  state_->answers.erase(asked);
  return facts;
}

void ContainerNames::forget(std::uint64_t number) {
  const std::lock_guard lock(state_->mutex);
  state_->answers.erase(number);
}

}  // namespace tracer::internal
