// SPDX-License-Identifier: Apache-2.0
#include "session_state.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <limits>

namespace tracer::c {
namespace {

thread_local const InCallback* innermost = nullptr;
std::atomic<std::uint64_t> last_id{0};

[[noreturn]] void refuse_descriptor() {
  throw Error({ErrorCode::kNoMemory,
               errno,
               "can't make a descriptor to wait on",
               "raise the limit of open files (ulimit -n)",
               {}});
}

}  // namespace

InCallback::InCallback(std::uint64_t session) noexcept : session_(session), outer_(std::exchange(innermost, this)) {}
InCallback::~InCallback() { innermost = outer_; }

bool InCallback::of(std::uint64_t session) noexcept {
  for (const InCallback* each = innermost; each != nullptr; each = each->outer_)
    if (each->session_ == session) return true;
  return false;
}

Readiness::Readiness(Queue end) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), end_(std::move(end)) {
  if (!epoll_) refuse_descriptor();
  watch(wakeup_.fd());
  watch(end_.fd());
}

void Readiness::clear() {
  wakeup_.clear();
  pass_losses();
}

void Readiness::pass_losses() {
  std::array<Event, 16> passed;
  while (end_.read(passed) != 0) continue;
}

void Readiness::watch(int other_fd) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = other_fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, other_fd, &wanted) != 0) refuse_descriptor();
}

void Readiness::unwatch(int other_fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, other_fd, nullptr); }

SessionState::SessionState(std::unique_ptr<Session> made, bool polls)
    : id_(++last_id),
      polls_(polls),
      readiness_(std::make_shared<Readiness>(made->queue({.kinds = {EventKind::kSessionEnd}, .capacity_bytes = 1}))),
      session_(std::move(made)) {
  if (polls_) readiness_->watch(session_->fd());
}

Session& SessionState::running() {
  if (session_->finished()) throw Refusal{TRACER_ENDED, "the session has ended", "make a new session"};
  return *session_;
}

void SessionState::stop() {
  refuse_in_callback("tracer_session_stop()");
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
    readiness_->clear();
    return 0;
  }
  epoll_event ready{};
  const auto limit = static_cast<int>(std::min<std::int64_t>(timeout.count(), std::numeric_limits<int>::max()));
  if (::epoll_wait(readiness_->fd(), &ready, 1, limit) <= 0) return 0;
  readiness_->clear();
  return polls_ ? session_->poll(std::chrono::milliseconds(0)) : 0;
}

void SessionState::refuse_in_callback(const char* what) const {
  if (!InCallback::of(id_)) return;
  throw Error({ErrorCode::kInCallback,
               0,
               std::string(what) + " inside a callback would wait for itself",
               "call tracer_session_request_stop(), or call it when the callback has returned",
               {}});
}

}  // namespace tracer::c
