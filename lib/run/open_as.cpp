// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

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

/// A message of an Answer and at most one descriptor.
class Message {
 public:
  explicit Message(Answer& answer) : part_{&answer, sizeof answer} {
    header_.msg_iov = &part_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_;
    header_.msg_controllen = sizeof control_;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void attach(int fd) noexcept {
    cmsghdr* attached = CMSG_FIRSTHDR(&header_);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(attached), &fd, sizeof fd);
  }
  void attach_nothing() noexcept { header_.msg_controllen = 0; }
  int attached() noexcept {
    int fd = -1;
    const cmsghdr* got = CMSG_FIRSTHDR(&header_);
    if (got != nullptr && got->cmsg_level == SOL_SOCKET && got->cmsg_type == SCM_RIGHTS)
      std::memcpy(&fd, CMSG_DATA(got), sizeof fd);
    return fd;
  }
  msghdr* get() noexcept { return &header_; }

 private:
  iovec part_;
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int))] = {};
  msghdr header_{};
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
  Message message(answer);
  if (fd >= 0) {
    message.attach(fd);
  } else {
    message.attach_nothing();
  }
  ::_exit(::sendmsg(socket, message.get(), MSG_NOSIGNAL) < 0 ? 1 : 0);
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
  Message message(answer);
  ssize_t got = 0;
  do {
    got = ::recvmsg(ours.get(), message.get(), MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const int error_number = errno;
  internal::reap(helper);
  if (got != sizeof answer)
    throw Error({ErrorCode::kInternal, got < 0 ? error_number : 0, "the helper that opens files has died", {}, {}});
  if (!answer.opened)
    throw Error({ErrorCode::kPermission, answer.error_number, fmt::format("can't act as {}", user.name), {}, {}});
  if (answer.error_number != 0) refuse(answer.error_number, file);
  return message.attached();
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
