// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer {
namespace internal {

void require_known(EventKind kind) {
  if (!to_string(kind).empty()) return;
  throw Error({ErrorCode::kInvalidArgument,
               0,
               fmt::format("there is no kind of event with the number {}", static_cast<unsigned>(kind)),
               "use one of EventKind",
               {}});
}

QueueState::QueueState(QueueOptions options) : options_(std::move(options)), when_full_(options_.when_full) {
  if (options_.capacity_bytes == 0)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "a queue of 0 bytes is not possible",
                 "set QueueOptions::capacity_bytes to 1 or more",
                 {}});
  for (const EventKind kind : options_.kinds) {
    require_known(kind);
    wanted_.insert(kind);
  }
  if (wanted_.empty()) return;
  wanted_.insert(EventKind::kLoss);
  if (options_.session_end) wanted_.insert(EventKind::kSessionEnd);
}

bool QueueState::wants(EventKind kind) const noexcept {
  if (wanted_.empty()) return kind != EventKind::kSessionEnd || options_.session_end;
  return wanted_.contains(kind);
}

void QueueState::push(std::span<const Event> events, const std::atomic<bool>& hurry) {
  std::unique_lock lock(mutex_);
  if (ended_) return;
  // Also where memory runs out in between: what is there can be read.
  struct Announce {
    QueueState& queue;
    ~Announce() { queue.tell_reader(); }
  } announce{*this};
  for (const Event& event : events) {
    if (!wants(event.kind())) continue;
    wait_for_room(lock, event.charge_bytes(), hurry);
    events_.push_back(event);
    ++pushed_;
    charged_bytes_ += event.charge_bytes();
    // The last one stays, whatever its size: an end must come, and a gap must end before something.
    while (charged_bytes_ > options_.capacity_bytes && events_.size() > 1) drop_oldest();
  }
}

void QueueState::wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t bytes, const std::atomic<bool>& hurry) {
  // It looks again by itself: who sets `hurry` may be a signal handler, and takes no lock.
  constexpr std::chrono::milliseconds kPeriod{20};
  while (!events_.empty() && charged_bytes_ + bytes > options_.capacity_bytes && when_full_.load() == WhenFull::kWait &&
         !hurry.load() && !abandoned()) {
    tell_reader();
    room_.wait_for(lock, kPeriod);
  }
}

void QueueState::tell_reader() noexcept {
  if (!has_something()) return;
  set_readable(true);
  changed_.notify_all();
}

void QueueState::drop_oldest() {
  const Event& oldest = events_.front();
  if (gap_.by_kind.empty()) gap_.first_ns = oldest.time_ns();
  gap_.last_ns = oldest.time_ns();
  ++gap_.by_kind[oldest.kind()];
  ++dropped_;
  charged_bytes_ -= oldest.charge_bytes();
  events_.pop_front();
}

Event QueueState::take_gap() {
  Loss loss;
  loss.time_ns = gap_.last_ns;
  loss.cause = "queue_full";
  loss.first_ns = gap_.first_ns;
  loss.last_ns = gap_.last_ns;
  for (const auto& [kind, count] : gap_.by_kind) {
    loss.by_kind.push_back({kind, count});
    loss.count += count;
  }
  gap_ = {};
  return loss;
}

void QueueState::end() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  drive_.reset();
  set_readable(true);
  changed_.notify_all();
}

std::size_t QueueState::read(std::span<Event> out, std::uint64_t* left) {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  if (!out.empty() && !gap_.by_kind.empty()) out[count++] = take_gap();
  while (count < out.size() && !events_.empty()) {
    charged_bytes_ -= events_.front().charge_bytes();
    out[count++] = std::move(events_.front());
    events_.pop_front();
  }
  if (left != nullptr) *left = pushed_ - events_.size();
  room_.notify_one();
  if (!has_something() && !ended_) set_readable(false);
  return count;
}

bool QueueState::wait(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongest = std::chrono::hours(24 * 365);
  const bool forever = timeout.count() < 0 || timeout > kLongest;
  const auto until = Clock::now() + (forever ? std::chrono::milliseconds(0) : timeout);
  std::unique_lock lock(mutex_);
  while (!has_something() && !ended_) {
    if (std::exchange(nudged_, false)) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (!forever && left.count() <= 0) return false;
    if (const auto drive = drive_) {
      lock.unlock();
      (*drive)(forever ? std::chrono::milliseconds(-1) : left, readable_.fd());
      lock.lock();
    } else if (forever) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, until);
    }
  }
  nudged_ = false;
  return true;
}

void QueueState::nudge() noexcept {
  const std::lock_guard lock(mutex_);
  nudged_ = true;
  changed_.notify_all();
}

std::uint64_t QueueState::pushed() const {
  const std::lock_guard lock(mutex_);
  return pushed_;
}

bool QueueState::ready() const {
  const std::lock_guard lock(mutex_);
  return has_something() || ended_;
}

bool QueueState::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_ && !has_something();
}

std::uint64_t QueueState::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void QueueState::set_drive(Drive drive) {
  const std::lock_guard lock(mutex_);
  if (!ended_) drive_ = std::make_shared<const Drive>(std::move(drive));
}

void QueueState::set_readable(bool readable) noexcept {
  if (readable == is_readable_) return;
  is_readable_ = readable;
  readable ? readable_.set() : readable_.clear();
}

}  // namespace internal

Queue::Queue(std::shared_ptr<internal::QueueState> state) noexcept : state_(std::move(state)) {}
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&& other) noexcept {
  if (this != &other) {
    if (state_) state_->abandon();
    state_ = std::move(other.state_);
  }
  return *this;
}
Queue::~Queue() {
  if (state_) state_->abandon();
}
std::size_t Queue::read(std::span<Event> out) { return state_->read(out); }
bool Queue::wait(std::chrono::milliseconds timeout) { return state_->wait(timeout); }
int Queue::fd() const noexcept { return state_->fd(); }
bool Queue::ended() const noexcept { return state_->ended(); }
std::uint64_t Queue::dropped() const noexcept { return state_->dropped(); }
void Queue::set_when_full(WhenFull when_full) noexcept { state_->set_when_full(when_full); }

}  // namespace tracer
