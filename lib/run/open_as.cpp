// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "base/descriptor_message.hpp"
#include "base/unique_fd.hpp"
#include "run/reap.hpp"
#include "run/user.hpp"

namespace tracer {

using internal::UniqueFd;

namespace {

constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
/// What is recorded names files and folders that others may not see.
constexpr mode_t kMode = 0600;

/// What the helper has to say; with a descriptor if nothing has failed.
struct Answer {
  int error_number = 0;
  bool opened = false;
};

/// In a process of its own, as becoming somebody is for good. Only what is async-signal-safe.
[[noreturn]] void open_and_send(const User& user, const char* file, int socket) noexcept {
  Answer answer;
  int fd = -1;
  if (internal::become(user)) {
    fd = ::open(file, kFlags, kMode);
    answer.opened = true;
  }
  if (fd < 0) answer.error_number = errno;
  ::_exit(internal::send_with_descriptor(socket, std::as_bytes(std::span(&answer, 1)), fd) ? 0 : 1);
}

[[noreturn]] void refuse(int error_number, const std::filesystem::path& file) {
  throw Error({ErrorCode::kFileUnwritable,
               error_number,
               fmt::format("can't create {}", file.string()),
               "name a file in a folder that exists and that you may write to",
               {}});
}

int open_elsewhere(const User& user, const std::filesystem::path& file) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error({ErrorCode::kInternal, errno, "can't make a socket", {}, {}});
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t helper = ::fork();
  if (helper == 0) open_and_send(user, file.c_str(), theirs.get());
  if (helper < 0) throw Error({ErrorCode::kInternal, errno, "can't fork", {}, {}});
  theirs.reset();
  Answer answer;
  int fd = -1;
  const bool answered =
      internal::receive_with_descriptor(ours.get(), std::as_writable_bytes(std::span(&answer, 1)), fd);
  const int error_number = errno;
  internal::reap(helper);
  if (!answered) throw Error({ErrorCode::kInternal, error_number, "the helper that opens files has died", {}, {}});
  if (!answer.opened)
    throw Error({ErrorCode::kPermission, answer.error_number, fmt::format("can't act as {}", user.name), {}, {}});
  if (answer.error_number != 0) refuse(answer.error_number, file);
  return fd;
}

int open_as_caller(const std::filesystem::path& file) {
  const auto end = end_of_links(file);
  return end ? ::open(end->path.c_str(), kFlags | (end->follow ? 0 : O_NOFOLLOW), kMode) : -1;
}

}  // namespace

int open_as(const std::optional<User>& user, const std::filesystem::path& file) {
  if (user && user->uid != ::geteuid()) return open_elsewhere(*user, file);
  const int fd = open_as_caller(file);
  if (fd < 0) refuse(errno, file);
  return fd;
}

}  // namespace tracer
