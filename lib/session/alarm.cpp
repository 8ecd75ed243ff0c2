// SPDX-License-Identifier: Apache-2.0
#include "session/alarm.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

#include <tracer/error.hpp>

namespace tracer::internal {

namespace {

[[noreturn]] void refuse() {
  throw Error({ErrorCode::kNoMemory,
               errno,
               "can't make the session's descriptors",
               "raise the limit of open files (ulimit -n)",
               {}});
}

void watch(const UniqueFd& epoll, int fd) {
  epoll_event interest{};
  interest.events = EPOLLIN;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &interest) != 0) refuse();
}

}  // namespace

Alarm::Alarm()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!epoll_ || !timer_) refuse();
  watch(epoll_, timer_.get());
  watch(epoll_, bell_.fd());
}

void Alarm::ring() noexcept { bell_.set(); }

void Alarm::start(int source_fd, std::chrono::milliseconds period) {
  watch(epoll_, source_fd);
  set_period(period);
}

void Alarm::set_period(std::chrono::milliseconds period) noexcept {
  itimerspec times{};
  times.it_interval.tv_sec = static_cast<time_t>(period.count() / 1000);
  times.it_interval.tv_nsec = static_cast<long>(period.count() % 1000 * 1'000'000);
  times.it_value = times.it_interval;
  ::timerfd_settime(timer_.get(), 0, &times, nullptr);
}

bool is_readable(int fd) noexcept {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

void wait_for(int fd, std::chrono::milliseconds timeout, int other_fd) noexcept {
  pollfd ready[2] = {{fd, POLLIN, 0}, {other_fd, POLLIN, 0}};
  const auto most = static_cast<std::chrono::milliseconds::rep>(std::numeric_limits<int>::max());
  ::poll(ready, 2, timeout.count() < 0 ? -1 : static_cast<int>(std::min(timeout.count(), most)));
}

void Alarm::wait(std::chrono::milliseconds timeout, int other_fd) const noexcept {
  wait_for(epoll_.get(), timeout, other_fd);
}

void Alarm::reset() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(timer_.get(), &count, sizeof count);
  bell_.clear();
}

}  // namespace tracer::internal
