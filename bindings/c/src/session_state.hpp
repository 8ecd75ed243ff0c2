// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

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

/// The one descriptor of a session. Its queues share it: whoever frees one holds no session, and so ends none.
class Readiness {
 public:
  /// Throws Error(kNoMemory).
  explicit Readiness(Queue end);

  int fd() const noexcept { return epoll_.get(); }
  void wake() const noexcept { wakeup_.set(); }
  /// What has made fd() readable is taken care of, but for what is watched, and the end.
  void clear();
  /// Its events make fd() readable, until unwatch(). Throws Error(kNoMemory).
  void watch(int other_fd);
  void unwatch(int other_fd) noexcept;
  /// Takes out the losses that are in the queue of the end, as in any.
  void pass_losses();

 private:
  internal::UniqueFd epoll_;
  internal::Wakeup wakeup_;
  Queue end_;  ///< Readable from the session's end on.
};

/// While a callback of a session runs on this thread; that of another session may be around it.
class InCallback {
 public:
  /// `session`: SessionState::id(); 0 is none.
  explicit InCallback(std::uint64_t session) noexcept;
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
  static bool of(std::uint64_t session) noexcept;

 private:
  const std::uint64_t session_;
  const InCallback* const outer_;
};

/// on_error, with what belongs to it.
struct ErrorHandler {
  void (*function)(void* user_data, std::int32_t result) = nullptr;
  void* user_data = nullptr;
  void (*destroy)(void* user_data) = nullptr;
  bool owned = false;  ///< There is a session, and so user_data is its own.

  ~ErrorHandler() {
    if (owned && destroy != nullptr) destroy(user_data);
  }
};

/// A session with its one descriptor. Shared with those who wait in it, so that a callback may free it.
class SessionState {
 public:
  SessionState(std::unique_ptr<Session> made, bool polls);

  Session& session() noexcept { return *session_; }
  /// For what makes no sense after the end. Throws Refusal.
  Session& running();
  std::uint64_t id() const noexcept { return id_; }
  bool finished() const noexcept { return session_->finished(); }
  void stop();
  void request_stop() noexcept;

  const std::shared_ptr<Readiness>& readiness() const noexcept { return readiness_; }
  void wake() const noexcept { readiness_->wake(); }
  std::size_t dispatch(std::chrono::milliseconds timeout);
  void refuse_in_callback(const char* what) const;

 private:
  const std::uint64_t id_;
  const bool polls_;
  std::shared_ptr<Readiness> readiness_;
  std::unique_ptr<Session> session_;
};

/// Throws Refusal, and Error(kInvalidArgument). on_error is not in it.
SessionOptions session_options(const tracer_session_options& given);
std::function<void(std::exception_ptr)> on_error_of(std::shared_ptr<const ErrorHandler> handler);
Context context_of(const tracer_context* given);
Announcement announcement_of(const tracer_announcement& given);
Submission submission_of(const tracer_submission& given);
QueueOptions queue_options(const tracer_queue_options& given);

}  // namespace tracer::c

struct tracer_session {
  tracer::c::Owner owner = {};
  std::shared_ptr<tracer::c::SessionState> state;
};
