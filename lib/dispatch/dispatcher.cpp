// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tracer {
namespace internal {

std::exception_ptr Subscriber::run(const Event& event) noexcept {
  if (!active_.load()) return nullptr;  // Without the lock, so that a cancel() gets it soon.
  Callback over;                        // Let go of without the lock: what it holds may take locks of its owner's.
  std::exception_ptr thrown;
  const std::lock_guard lock(running_);
  if (!active_.load()) return nullptr;
  ++depth_;
  try {
    callback_(event);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (--depth_ == 0 && !active_.load()) over.swap(callback_);
  return thrown;
}

void Subscriber::cancel() noexcept {
  Callback over;
  active_.store(false);
  const std::lock_guard wait_until_it_returns(running_);
  // Inside itself it is still needed.
  if (depth_ == 0) over.swap(callback_);
}

const Dispatcher::Subscribers& Dispatcher::Lists::of(EventKind kind) const {
  const auto named = by_kind.find(kind);
  return named == by_kind.end() ? any : named->second;
}

/// The lists with one more, without those that were canceled.
std::shared_ptr<const Dispatcher::Lists> Dispatcher::with(const Lists& before, Entry entry) {
  auto lists = std::make_shared<Lists>();
  std::copy_if(before.all.begin(), before.all.end(), std::back_inserter(lists->all),
               [](const Entry& each) { return each.subscriber->active(); });
  lists->all.push_back(std::move(entry));
  for (const Entry& each : lists->all) {
    if (each.kind) {
      lists->by_kind[*each.kind];
    } else {
      lists->any.push_back(each.subscriber);
    }
  }
  for (auto& [kind, subscribers] : lists->by_kind)
    for (const Entry& each : lists->all)
      if (!each.kind || *each.kind == kind) subscribers.push_back(each.subscriber);
  return lists;
}

Subscription Dispatcher::subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback) {
  auto subscriber = std::make_shared<Subscriber>(std::move(callback));
  add(kind, subscriber);
  return subscription(std::move(subscriber));
}

void Dispatcher::add(std::optional<EventKind> kind, std::shared_ptr<Subscriber> subscriber,
                     std::span<const Event> first) {
  for (const Event& event : first)
    if (!kind || *kind == event.kind()) run(*subscriber, event);
  std::shared_ptr<const Lists> before;  // Likewise.
  const std::lock_guard lock(mutex_);
  before = std::exchange(lists_, with(*lists_, {kind, std::move(subscriber)}));
}

Subscription Dispatcher::subscription(std::shared_ptr<Subscriber> subscriber) noexcept {
  return Subscription(std::move(subscriber));
}

void Dispatcher::dispatch(const Event& event) noexcept {
  std::shared_ptr<const Lists> lists;
  {
    const std::lock_guard lock(mutex_);
    lists = lists_;
  }
  for (const auto& subscriber : lists->of(event.kind())) run(*subscriber, event);
}

void Dispatcher::run(Subscriber& subscriber, const Event& event) noexcept {
  const std::exception_ptr thrown = subscriber.run(event);
  if (!thrown) return;
  ++callback_errors_;
  if (!on_error_) return;
  try {
    on_error_(thrown);
  } catch (...) {
    ++callback_errors_;
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
