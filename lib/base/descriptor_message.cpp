// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_message.hpp"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

namespace tracer::internal {
namespace {

/// Room for one descriptor beside the bytes.
struct Message {
  explicit Message(void* bytes, std::size_t size) noexcept : part{bytes, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

}  // namespace

bool send_with_descriptor(int socket, std::span<const std::byte> bytes, int fd) noexcept {
  Message message(const_cast<std::byte*>(bytes.data()), bytes.size());
  if (fd >= 0) {
    cmsghdr* const attached = CMSG_FIRSTHDR(&message.header);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(attached), &fd, sizeof fd);
  } else {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  }
  return ::sendmsg(socket, &message.header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool receive_with_descriptor(int socket, std::span<std::byte> bytes, int& fd) noexcept {
  Message message(bytes.data(), bytes.size());
  fd = -1;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  const cmsghdr* const attached = CMSG_FIRSTHDR(&message.header);
  if (got > 0 && attached != nullptr && attached->cmsg_level == SOL_SOCKET && attached->cmsg_type == SCM_RIGHTS)
    std::memcpy(&fd, CMSG_DATA(attached), sizeof fd);
  errno = 0;
  return got == static_cast<ssize_t>(bytes.size());
}

}  // namespace tracer::internal
