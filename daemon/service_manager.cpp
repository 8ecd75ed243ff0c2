// SPDX-License-Identifier: Apache-2.0
#include "service_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/number.hpp"

namespace tracerd {
namespace {

constexpr int kFirstHanded = 3;
constexpr int kMostHanded = 64;

std::optional<std::int64_t> number_in(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : tracer::internal::parse_number<std::int64_t>(text);
}

bool is_option(int fd, int option, int wanted) {
  int value = 0;
  socklen_t bytes = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 && value == wanted;
}

}  // namespace

std::vector<HandedSocket> take_handed_sockets() {
  std::vector<HandedSocket> sockets;
  const auto pid = number_in("LISTEN_PID");
  const auto count = number_in("LISTEN_FDS");
  if (pid != ::getpid() || !count || *count < 1 || *count > kMostHanded) return sockets;
  std::string names = std::getenv("LISTEN_FDNAMES") == nullptr ? "" : std::getenv("LISTEN_FDNAMES");
  for (int fd = kFirstHanded; fd < kFirstHanded + static_cast<int>(*count); ++fd) {
    const std::string name = names.substr(0, names.find(':'));
    names.erase(0, name.size() + 1);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (!is_option(fd, SO_DOMAIN, AF_UNIX) || !is_option(fd, SO_TYPE, SOCK_STREAM) || !is_option(fd, SO_ACCEPTCONN, 1))
      throw tracer::Error({tracer::ErrorCode::kInvalidArgument,
                           0,
                           fmt::format("descriptor {} that was handed over is no Unix stream socket that listens", fd),
                           "in the .socket unit, use ListenStream= with a path",
                           {}});
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    sockets.push_back({tracer::internal::UniqueFd(fd), name});
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return sockets;
}

ServiceManager::ServiceManager() {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(name);
  if (size == 0 || size >= sizeof address.sun_path || (*name != '/' && *name != '@')) return;
  std::memcpy(address.sun_path, name, size);
  if (*name == '@') address.sun_path[0] = '\0';
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) socket_.reset();
  ::unsetenv("NOTIFY_SOCKET");
  const auto patience_us = number_in("WATCHDOG_USEC");
  const auto watched = number_in("WATCHDOG_PID");
  if (patience_us && *patience_us > 0 && (!watched || *watched == ::getpid()))
    watchdog_period_ = std::chrono::milliseconds(*patience_us / 2000);
}

void ServiceManager::tell(std::string_view lines) const noexcept {
  if (socket_) ::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace tracerd
