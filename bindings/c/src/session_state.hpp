// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include <tracer/session.hpp>

#include "base/unique_fd.hpp"
#include "base/wakeup.hpp"
#include "guard.hpp"

namespace tracer::c {

/// Milliseconds of a caller; any negative number is no limit.
inline std::chrono::milliseconds limit_of(std::int64_t timeout_ms) noexcept {
  constexpr std::int64_t kLongest = std::int64_t{1000} * 60 * 60 * 24 * 365;
  return std::chrono::milliseconds(timeout_ms < 0 ? -1 : std::min(timeout_ms, kLongest));
}

/// A session with its one descriptor. Shared with those who wait in it, so that a callback may free it.
class SessionState {
 public:
  SessionState(std::unique_ptr<Session> made, bool polls);

  Session& session() noexcept { return *session_; }
  /// For what makes no sense after the end. Throws Refusal.
  Session& running();
  bool finished() const noexcept { return session_->finished(); }
  void stop();
  void request_stop() noexcept;

  int fd() const noexcept { return epoll_.get(); }
  void wake() const noexcept { wakeup_.set(); }
  std::size_t dispatch(std::chrono::milliseconds timeout);
  /// Its events make fd() readable, until the return is let go of. Throws Error(kNoMemory).
  void watch(int queue_fd);
  void unwatch(int queue_fd) noexcept;
  void refuse_in_callback(const char* what) const;

  /// While one of its callbacks runs on this thread.
  class InCallback {
   public:
    explicit InCallback(const SessionState* state) noexcept;
    ~InCallback();
    InCallback(const InCallback&) = delete;
    InCallback& operator=(const InCallback&) = delete;

   private:
    const SessionState* outer_;
  };

 private:
  const bool polls_;
  std::atomic<bool> stopped_{false};
  internal::UniqueFd epoll_;
  internal::Wakeup wakeup_;
  std::optional<Queue> end_;  ///< Readable from the end on.
  std::unique_ptr<Session> session_;
};

/// Throws Refusal, and Error(kInvalidArgument).
SessionOptions session_options(const tracer_session_options& given);
Context context_of(const tracer_context* given);
Announcement announcement_of(const tracer_announcement& given);
QueueOptions queue_options(const tracer_queue_options& given);

}  // namespace tracer::c

struct tracer_session {
  tracer::c::Owner owner = {};
  std::shared_ptr<tracer::c::SessionState> state;
};
