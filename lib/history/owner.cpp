// SPDX-License-Identifier: Apache-2.0
#include "history/owner.hpp"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer::internal {
namespace {

/// Of this thread only: libc would change all of them.
bool set_groups(const std::vector<gid_t>& groups) noexcept {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<gid_t> groups_of_this_thread() {
  std::vector<gid_t> groups;
  int count = ::getgroups(0, nullptr);
  if (count < 0) return {};
  groups.resize(static_cast<std::size_t>(count));
  count = ::getgroups(count, groups.data());
  groups.resize(static_cast<std::size_t>(count < 0 ? 0 : count));
  return groups;
}

/// An impossible id changes nothing, and yields the present one.
uid_t files_uid() noexcept { return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))); }
gid_t files_gid() noexcept { return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))); }

thread_local std::optional<User> histories_of;

}  // namespace

FilesOf::FilesOf(const std::optional<User>& user) {
  if (!user || user->uid == ::geteuid()) return;
  groups_ = groups_of_this_thread();
  gid_ = files_gid();
  uid_ = files_uid();
  changed_ = true;
  if (set_groups(user->groups)) {
    ::setfsgid(user->gid);
    // Last: the kernel takes root's rights over files with it.
    ::setfsuid(user->uid);
    if (files_gid() == user->gid && files_uid() == user->uid) return;
  }
  const int error_number = errno;
  go_back();
  throw Error({ErrorCode::kPermission, error_number, fmt::format("can't open files as {}", user->name), {}, {}});
}

FilesOf::~FilesOf() { go_back(); }

void FilesOf::go_back() noexcept {
  if (!std::exchange(changed_, false)) return;
  ::setfsuid(uid_);
  ::setfsgid(gid_);
  set_groups(groups_);
}

HistoriesOf::HistoriesOf(std::optional<User> user) : before_(std::exchange(histories_of, std::move(user))) {}
HistoriesOf::~HistoriesOf() { histories_of = std::move(before_); }
const std::optional<User>& HistoriesOf::current() noexcept { return histories_of; }

}  // namespace tracer::internal
