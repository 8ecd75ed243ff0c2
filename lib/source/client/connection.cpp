// SPDX-License-Identifier: Apache-2.0
#include "source/client/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void refuse_to_connect(const std::filesystem::path& socket, int error_number) {
  const std::string name = socket.string();
  if (error_number == EACCES || error_number == EPERM)
    throw Error({ErrorCode::kPermission,
                 error_number,
                 fmt::format("{} must not be used by this user", name),
                 "use the one for all users, /run/tracer/tracer.sock; admin.sock is root's. If it is that one, ask the "
                 "administrator: it and its folder must be open to all",
                 {}});
  throw Error({ErrorCode::kNoService,
               error_number,
               fmt::format("no service listens on {}", name),
               "ask the administrator to start it (tracerd serve), or name its socket",
               {}});
}

sockaddr_un address_of(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = socket.string();
  if (name.empty() || name.size() >= sizeof address.sun_path || name.find('\0') != std::string::npos)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 fmt::format("\"{}\" can't be the path of a socket", name.substr(0, 200)),
                 fmt::format("name one of 1 to {} bytes", sizeof address.sun_path - 1),
                 {}});
  std::memcpy(address.sun_path, name.data(), name.size());
  return address;
}

/// Who listened first on what `fd` is connected to; 0: in a pid namespace that this process does not see.
std::optional<pid_t> maker_of_socket(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.pid;
}

/// As recv().
ssize_t receive_with_descriptors(int socket, std::span<std::byte> bytes, std::vector<UniqueFd>& passed) {
  /// The kernel passes no more at once.
  constexpr std::size_t kMost = 253;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const int error_number = errno;
  for (cmsghdr* each = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const auto* from = CMSG_DATA(each);
    for (std::size_t left = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int); left > 0; --left, from += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, from, sizeof fd);
      passed.emplace_back(fd);
    }
  }
  errno = error_number;
  return got;
}

}  // namespace

UniqueFd connect_to_service(const std::filesystem::path& socket) {
  const sockaddr_un address = address_of(socket);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd)
    throw Error({ErrorCode::kNoMemory, errno, "can't make a socket", "raise the limit of open files (ulimit -n)", {}});
  const auto until = std::chrono::steady_clock::now() + kLongestAnswer;
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    // EAGAIN: others wait to be accepted.
    if (errno != EINTR && errno != EAGAIN) refuse_to_connect(socket, errno);
    if (std::chrono::steady_clock::now() >= until) refuse_silent(socket, "accepts no connection", EAGAIN);
    std::this_thread::sleep_for(milliseconds(5));
  }
  return fd;
}

void refuse_silent(const std::filesystem::path& socket, const char* what, int error_number) {
  throw Error({ErrorCode::kNoService,
               error_number,
               fmt::format("the service at {} {}", socket.string(), what),
               "look at its state and log (systemctl status tracerd), or restart it",
               {}});
}

/// A child made by fork may still have it.
ServiceConnection::~ServiceConnection() {
  if (fd_) ::shutdown(fd_.get(), SHUT_RDWR);
}

bool ServiceConnection::shares_pids() const noexcept { return maker_of_socket(fd_.get()).value_or(0) != 0; }

bool ServiceConnection::is_of_manager() const noexcept { return maker_of_socket(fd_.get()) == 1; }

std::string_view ServiceConnection::ask(const Request& request, std::vector<UniqueFd>* passed) {
  usable_ = false;
  const auto until = Clock::now() + (may_start_ ? kLongestStart : kLongestAnswer);
  send(to_line(request), until);
  const std::string_view reply = receive(until, passed);
  usable_ = true;
  may_start_ = false;
  return reply;
}

void ServiceConnection::send(std::string_view line, Clock::time_point until) {
  if (line.size() > kMaxRequestBytes)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "a request has more bytes than the service takes",
                 fmt::format("use shorter names and labels: all together at most {} KiB", kMaxRequestBytes >> 10),
                 {}});
  while (!line.empty()) {
    const ssize_t sent = ::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      wait(POLLOUT, until);
    } else if (errno != EINTR) {
      refuse_silent(socket_, "has closed the connection", errno);
    }
  }
}

std::string_view ServiceConnection::receive(Clock::time_point until, std::vector<UniqueFd>* passed) {
  std::array<std::byte, 16u << 10> buffer;
  for (;;) {
    if (const auto line = lines_.next()) return *line;
    if (lines_.too_long())
      throw Error({ErrorCode::kServiceRefused,
                   0,
                   fmt::format("what listens on {} answers with a line that has no end", socket_.string()),
                   "name the socket of tracerd serve",
                   {}});
    const ssize_t got = passed == nullptr ? ::recv(fd_.get(), buffer.data(), buffer.size(), 0)
                                          : receive_with_descriptors(fd_.get(), buffer, *passed);
    if (got > 0) {
      lines_.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    } else if (got == 0) {
      refuse_silent(socket_, "has closed the connection");
    } else if (errno == EAGAIN) {
      wait(POLLIN, until);
    } else if (errno != EINTR) {
      refuse_silent(socket_, "has closed the connection", errno);
    }
  }
}

void ServiceConnection::wait(short events, Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  if (left.count() <= 0) refuse_silent(socket_, "does not answer", ETIMEDOUT);
  pollfd ready{fd_.get(), events, 0};
  ::poll(&ready, 1, static_cast<int>(left.count()));
}

}  // namespace tracer::internal
