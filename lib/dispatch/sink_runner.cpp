// SPDX-License-Identifier: Apache-2.0
#include "dispatch/sink_runner.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "base/own_usage.hpp"
#include "base/quiet_thread.hpp"

namespace tracer {
namespace internal {

SinkRunner::SinkRunner(std::unique_ptr<Sink> sink, QueueOptions options, QueueState::OwnerOf owner_of)
    : sink_(std::move(sink)), queue_(std::make_shared<QueueState>(std::move(options), std::move(owner_of))) {}

std::shared_ptr<SinkRunner> SinkRunner::start(std::unique_ptr<Sink> sink, QueueOptions options,
                                              QueueState::OwnerOf owner_of) {
  auto runner = std::make_shared<SinkRunner>(std::move(sink), std::move(options), std::move(owner_of));
  runner->thread_ = start_quiet_thread([runner] { runner->run(); });
  return runner;
}

SinkRunner::~SinkRunner() {
  // Here the thread has ended, or it is the one that lets go of the runner at last.
  if (thread_.joinable()) thread_.detach();
}

void SinkRunner::run() noexcept {
  own_thread_.store(std::this_thread::get_id());
  drop_capabilities_of_this_thread();
  // What its file begins with is there at once.
  sink_->flush();
  flushed_.reach(1);
  write_until_the_end();
  // Here, because the last reference may be dropped on any thread.
  sink_->flush();
  flushed_.end();
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

void SinkRunner::write_until_the_end() noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kEventsPerWrite = 256;
  std::array<Event, kEventsPerWrite> events;
  auto next_flush = Clock::now() + sink_->flush_period();
  bool written = false;  // Since the last flush.
  while (!left_behind_.load(std::memory_order_relaxed)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_flush - Clock::now());
    queue_->wait(written ? std::max(left, std::chrono::milliseconds(0)) : std::chrono::milliseconds(-1));
    const CpuMeter meter(cpu_ns_);
    std::size_t count = 0;
    std::uint64_t left_queue = 0;
    try {
      count = queue_->read(events, &left_queue);
    } catch (...) {
      out_of_memory_.store(true);
      queue_->abandon();
      return;
    }
    if (count != 0) {
      if (!written) next_flush = Clock::now() + sink_->flush_period();
      sink_->write(std::span(events).first(count));
      std::fill_n(events.begin(), count, Event());
      written = true;
    }
    const bool ended = queue_->ended();
    const std::uint64_t position = left_queue + 1;
    if (written && (ended || Clock::now() >= next_flush || is_wanted(position))) {
      sink_->flush();
      written = false;
    }
    if (!written) flushed_.reach(position);
    if (ended) return;
  }
}

/// While it lives, the sink flushes as soon as it has come there.
class SinkRunner::Wanted {
 public:
  Wanted(SinkRunner& runner, std::uint64_t position) : runner_(runner) {
    const std::lock_guard lock(runner_.mutex_);
    at_ = runner_.wanted_.insert(position);
  }
  ~Wanted() {
    const std::lock_guard lock(runner_.mutex_);
    runner_.wanted_.erase(at_);
  }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

 private:
  SinkRunner& runner_;
  std::multiset<std::uint64_t>::iterator at_;
};

/// Whether somebody waits for this place, or one before it.
bool SinkRunner::is_wanted(std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  return !wanted_.empty() && *wanted_.begin() <= position;
}

void SinkRunner::refuse_on_own_thread(const char* what) const {
  if (own_thread_.load() != std::this_thread::get_id()) return;
  throw Error({ErrorCode::kInCallback,
               0,
               std::string(what) + " of a sink on its own thread would wait for itself",
               "call it on another thread",
               {}});
}

bool SinkRunner::flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on) {
  refuse_on_own_thread("flush()");
  const Deadline until(timeout);
  const std::uint64_t position = queue_->pushed() + 1;
  const Wanted wanted(*this, position);
  queue_->nudge();
  for (Pause pause;;) {
    const bool there = flushed_.wait(position, until.within(pause.next()));
    if (problem()) return false;
    if (there) return true;
    if (until.passed() || (go_on && !go_on())) return false;
  }
}

void SinkRunner::finish(std::chrono::steady_clock::time_point until) noexcept {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  if (std::this_thread::get_id() != thread_.get_id() && changed_.wait_until(lock, until, [&] { return done_; })) {
    lock.unlock();
    thread_.join();
    return;
  }
  left_behind_.store(true);
  thread_.detach();
}

void SinkRunner::close(std::chrono::steady_clock::time_point until) {
  refuse_on_own_thread("close()");
  const std::lock_guard one_at_a_time(closing_);
  if (closed_.load()) return;
  queue_->end();
  finish(until);
  queue_->abandon();
  const std::lock_guard lock(mutex_);
  if (done_) {
    last_problem_ = sink_->problem();
    sink_.reset();
  }
  closed_.store(true);
}

std::optional<Problem> SinkRunner::problem() const {
  const std::lock_guard lock(mutex_);
  if (!sink_) return last_problem_;
  if (auto problem = sink_->problem()) return problem;
  if (out_of_memory_.load())
    return Problem{ErrorCode::kNoMemory, 0, "no memory for a sink's events: it has stopped", {}, {}};
  if (!left_behind_.load()) return std::nullopt;
  return Problem{ErrorCode::kFileUnwritable,
                 0,
                 "a sink did not finish within 2 s of its end and was given up",
                 "its file or pipe takes no data: check what reads it",
                 {}};
}

}  // namespace internal

SinkHandle::SinkHandle(std::shared_ptr<internal::SinkRunner> runner) noexcept : runner_(std::move(runner)) {}
std::optional<Problem> SinkHandle::problem() const { return runner_->problem(); }
bool SinkHandle::flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on) {
  return runner_->flush(timeout, go_on);
}
std::optional<Problem> SinkHandle::close() {
  runner_->close(std::chrono::steady_clock::now() + internal::SinkRunner::kMostWait);
  return runner_->problem();
}
std::uint64_t SinkHandle::dropped() const noexcept { return runner_->queue()->dropped(); }

}  // namespace tracer
