// SPDX-License-Identifier: Apache-2.0
#include "source/proc/exit_watch.hpp"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace tracer::internal {
namespace {

/// struct pidfd_info of <linux/pidfd.h>, which older headers don't have, as it was first.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup_id = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);  // PIDFD_GET_INFO
constexpr std::uint64_t kInfoExit = 1u << 3;                    // PIDFD_INFO_EXIT

std::size_t room() noexcept {
  constexpr rlim_t kPart = 4;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / kPart, ExitWatch::kMost));
}

}  // namespace

ExitWatch::ExitWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), most_(room()) {
  if (!epoll_) throw std::system_error(errno, std::generic_category());
}

void ExitWatch::add(std::uint32_t pid) {
  if (watched_.size() >= most_ || watched_.contains(pid)) return;
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u32 = pid;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0) watched_.emplace(pid, std::move(fd));
}

std::vector<std::uint32_t> ExitWatch::take_ended() {
  std::vector<std::uint32_t> ended;
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) ended.push_back(events[static_cast<std::size_t>(i)].data.u32);
    if (count < static_cast<int>(events.size())) return ended;
  }
}

std::optional<int> ExitWatch::wait_status(std::uint32_t pid) const {
  const auto watched = watched_.find(pid);
  if (watched == watched_.end()) return std::nullopt;
  PidfdInfo info;
  info.mask = kInfoExit;
  if (::ioctl(watched->second.get(), kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

}  // namespace tracer::internal
