// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/heap_bytes.hpp"
#include "base/process_schema.hpp"

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

QueueState::QueueState(QueueOptions options, OwnerOf owner_of)
    : options_(std::move(options)), owner_of_(std::move(owner_of)), when_full_(options_.when_full) {
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
    const uid_t uid = owner_of_ ? owner_of_(event) : 0;
    Owner& owner = owners_[uid];
    const std::size_t bytes = charge_of(event, owner);
    events_.push_back({event, uid, bytes});
    owner.positions.push_back(pushed_++);
    owner.bytes += bytes;
    charged_bytes_ += bytes;
    drop_for_room();
  }
}

bool QueueState::was_dropped(const Waiting& waiting) noexcept { return waiting.event.kind() == EventKind::kNone; }

/// Where owners are told apart, what several events of one share is charged once.
std::size_t QueueState::charge_of(const Event& event, Owner& owner) const {
  const std::size_t bytes = event.charge_bytes();
  if (!owner_of_) return bytes;
  std::shared_ptr<const Context> context;
  visit(
      [&context](const auto& body) {
        if constexpr (requires { body.process->context; }) {
          context = body.process->context;
        } else if constexpr (requires { body.context->task; }) {
          context = body.context;
        }
      },
      event);
  const bool is_shared = context && context == owner.context;
  if (context && !is_shared) {
    owner.context_bytes = sizeof(Context) + heap_bytes(*context);
    owner.context = std::move(context);
  }
  return is_shared ? bytes - std::min(bytes, owner.context_bytes) : bytes;
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

void QueueState::drop_for_room() {
  // The last one stays, whatever its size: an end must come, and a gap must end before something.
  while (charged_bytes_ > options_.capacity_bytes && events_.size() > 1) {
    auto from = std::max_element(owners_.begin(), owners_.end(), [](const auto& one, const auto& other) {
      return one.second.bytes < other.second.bytes;
    });
    // An owner of nothing but places that dropped events have left: the first event keeps these from being freed.
    const auto& positions = from->second.positions;
    if (positions.empty() || positions.front() + 1 == pushed_) from = owners_.find(events_.front().owner);
    Owner& owner = from->second;
    Waiting& oldest = events_[static_cast<std::size_t>(owner.positions.front() - (pushed_ - events_.size()))];
    Gap& gap = owner.gap;
    if (gap.by_kind.empty()) {
      gap.first_ns = oldest.event.time_ns();
      ++gaps_;
    }
    gap.last_ns = oldest.event.time_ns();
    ++gap.by_kind[oldest.event.kind()];
    ++dropped_;
    owner.positions.pop_front();
    // Its place costs memory until it is at the front.
    const std::size_t freed = oldest.bytes - std::min(oldest.bytes, sizeof(Waiting));
    oldest.bytes -= freed;
    owner.bytes -= freed;
    charged_bytes_ -= freed;
    oldest.event = {};
    while (was_dropped(events_.front())) pop_front();
  }
}

/// A Loss for each owner who lost something. Returns how many.
std::size_t QueueState::take_gaps(std::span<Event> out) {
  std::size_t count = 0;
  for (auto& [uid, owner] : owners_) {
    if (gaps_ == 0 || count == out.size()) break;
    const Gap gap = std::exchange(owner.gap, {});
    if (gap.by_kind.empty()) continue;
    --gaps_;
    Loss loss;
    loss.time_ns = gap.last_ns;
    loss.cause = kQueueFull;
    loss.first_ns = gap.first_ns;
    loss.last_ns = gap.last_ns;
    for (const auto& [kind, lost] : gap.by_kind) {
      loss.by_kind.push_back({kind, lost});
      loss.count += lost;
    }
    if (owner_of_) loss.uid = uid;
    out[count++] = std::move(loss);
  }
  return count;
}

/// The first one was taken, or had been dropped.
void QueueState::pop_front() {
  const Waiting& first = events_.front();
  const auto known = owners_.find(first.owner);
  Owner& owner = known->second;
  if (!owner.positions.empty() && owner.positions.front() == pushed_ - events_.size()) owner.positions.pop_front();
  owner.bytes -= first.bytes;
  charged_bytes_ -= first.bytes;
  // An owner of nothing needs no place.
  if (owner.bytes == 0 && owner.positions.empty() && owner.gap.by_kind.empty()) owners_.erase(known);
  events_.pop_front();
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
  std::size_t count = take_gaps(out);
  // Positions of what was dropped count, so that no more is read than was asked for.
  for (std::size_t positions = count; positions < out.size() && !events_.empty(); ++positions) {
    if (!was_dropped(events_.front())) out[count++] = std::move(events_.front().event);
    pop_front();
  }
  while (!events_.empty() && was_dropped(events_.front())) pop_front();
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
