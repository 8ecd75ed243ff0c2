// SPDX-License-Identifier: Apache-2.0
#include "session/alarm.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

#include <tracer/error.hpp>

namespace tracer::internal {

Alarm::Alarm(int source_fd)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event interest{};
  interest.events = EPOLLIN;
  bool good = epoll_ && timer_ && bell_;
  for (const int fd : {source_fd, timer_.get(), bell_.get()})
    good = good && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &interest) == 0;
  if (!good)
    throw Error({ErrorCode::kNoMemory,
                 errno,
                 "can't make the session's descriptors",
                 "raise the limit of open files (ulimit -n)",
                 {}});
}

void Alarm::ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(bell_.get(), &one, sizeof one);
}

void Alarm::start_timer(std::chrono::milliseconds period) noexcept {
  itimerspec times{};
  times.it_interval.tv_sec = static_cast<time_t>(period.count() / 1000);
  times.it_interval.tv_nsec = static_cast<long>(period.count() % 1000 * 1'000'000);
  times.it_value = times.it_interval;
  ::timerfd_settime(timer_.get(), 0, &times, nullptr);
}

void Alarm::wait(std::chrono::milliseconds timeout, int other_fd) const noexcept {
  // One that is negative is passed over.
  pollfd ready[2] = {{epoll_.get(), POLLIN, 0}, {other_fd, POLLIN, 0}};
  const auto most = static_cast<std::chrono::milliseconds::rep>(std::numeric_limits<int>::max());
  ::poll(ready, 2, timeout.count() < 0 ? -1 : static_cast<int>(std::min(timeout.count(), most)));
}

void Alarm::reset() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(timer_.get(), &count, sizeof count);
  got = ::read(bell_.get(), &count, sizeof count);
}

}  // namespace tracer::internal
