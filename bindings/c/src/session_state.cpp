// SPDX-License-Identifier: Apache-2.0
#include "session_state.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <limits>

namespace tracer::c {
namespace {

thread_local const SessionState* calls_back = nullptr;

[[noreturn]] void refuse_descriptor() {
  throw Error({ErrorCode::kNoMemory,
               errno,
               "can't make a descriptor to wait on",
               "raise the limit of open files (ulimit -n)",
               {}});
}

}  // namespace

SessionState::InCallback::InCallback(const SessionState* state) noexcept : outer_(std::exchange(calls_back, state)) {}
SessionState::InCallback::~InCallback() { calls_back = outer_; }

SessionState::SessionState(std::unique_ptr<Session> made, bool polls)
    : polls_(polls), epoll_(::epoll_create1(EPOLL_CLOEXEC)), session_(std::move(made)) {
  if (!epoll_) refuse_descriptor();
  end_.emplace(session_->queue({.kinds = {EventKind::kSessionEnd}, .capacity_bytes = 1}));
  watch(wakeup_.fd());
  watch(end_->fd());
  if (polls_) watch(session_->fd());
}

Session& SessionState::running() {
  if (stopped_.load() || session_->finished())
    throw Refusal{TRACER_ENDED, "the session has ended", "make a new session"};
  return *session_;
}

void SessionState::stop() {
  refuse_in_callback("tracer_session_stop()");
  stopped_.store(true);
  session_->stop();
  wake();
}

void SessionState::request_stop() noexcept {
  session_->request_stop();
  wake();
}

std::size_t SessionState::dispatch(std::chrono::milliseconds timeout) {
  refuse_in_callback("tracer_session_dispatch()");
  if (session_->finished()) {
    wakeup_.clear();
    return 0;
  }
  epoll_event ready{};
  const auto limit = static_cast<int>(std::min<std::int64_t>(timeout.count(), std::numeric_limits<int>::max()));
  if (::epoll_wait(epoll_.get(), &ready, 1, limit) <= 0) return 0;
  wakeup_.clear();
  std::array<Event, 16> passed;
  while (end_->read(passed) != 0) continue;
  return polls_ ? session_->poll(std::chrono::milliseconds(0)) : 0;
}

void SessionState::watch(int queue_fd) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = queue_fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, queue_fd, &wanted) != 0) refuse_descriptor();
}

void SessionState::unwatch(int queue_fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, queue_fd, nullptr); }

void SessionState::refuse_in_callback(const char* what) const {
  if (calls_back != this) return;
  throw Error({ErrorCode::kInCallback,
               0,
               std::string(what) + " inside a callback would wait for itself",
               "call tracer_session_request_stop(), or call it when the callback has returned",
               {}});
}

}  // namespace tracer::c
