// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace tracer {
namespace internal {

std::exception_ptr Subscriber::run(const Event& event) noexcept {
  if (!active_.load()) return nullptr;  // Without the lock, so that a cancel() gets it soon.
  const std::lock_guard lock(running_);
  if (!active_.load()) return nullptr;
  try {
    callback_(event);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void Subscriber::cancel() noexcept {
  active_.store(false);
  const std::lock_guard wait_until_it_returns(running_);
}

Subscription Dispatcher::subscribe(std::function<void(const Event&)> callback) {
  auto subscriber = std::make_shared<Subscriber>(std::move(callback));
  const std::lock_guard lock(mutex_);
  auto list = std::make_shared<List>();
  std::copy_if(subscribers_->begin(), subscribers_->end(), std::back_inserter(*list),
               [](const auto& each) { return each->active(); });
  list->push_back(subscriber);
  subscribers_ = std::move(list);
  return Subscription(std::move(subscriber));
}

void Dispatcher::dispatch(const Event& event) noexcept {
  std::shared_ptr<const List> list;
  {
    const std::lock_guard lock(mutex_);
    list = subscribers_;
  }
  for (const auto& subscriber : *list) {
    const std::exception_ptr thrown = subscriber->run(event);
    if (!thrown) continue;
    ++callback_errors_;
    if (!on_error_) continue;
    try {
      on_error_(thrown);
    } catch (...) {
      ++callback_errors_;
    }
  }
}

}  // namespace internal

Subscription::Subscription(std::shared_ptr<internal::Subscriber> subscriber) noexcept
    : subscriber_(std::move(subscriber)) {}
Subscription::Subscription(Subscription&& other) noexcept = default;
Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    cancel();
    subscriber_ = std::move(other.subscriber_);
  }
  return *this;
}
Subscription::~Subscription() { cancel(); }

void Subscription::cancel() noexcept {
  if (!subscriber_) return;
  subscriber_->cancel();
  subscriber_.reset();
}

bool Subscription::active() const noexcept { return subscriber_ && subscriber_->active(); }

}  // namespace tracer
