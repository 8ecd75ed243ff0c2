// SPDX-License-Identifier: Apache-2.0
#include "service/service_manager.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/descriptor_message.hpp"
#include "base/number.hpp"

namespace tracerd {
namespace {

constexpr int kFirstHanded = 3;
constexpr int kMostHanded = 4096;
constexpr timeval kManagersTime{2, 0};

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

Handed take_handed() {
  Handed handed;
  const auto pid = number_in("LISTEN_PID");
  const auto count = number_in("LISTEN_FDS");
  if (pid != ::getpid() || !count || *count < 1 || *count > kMostHanded) return handed;
  std::string names = std::getenv("LISTEN_FDNAMES") == nullptr ? "" : std::getenv("LISTEN_FDNAMES");
  for (int fd = kFirstHanded; fd < kFirstHanded + static_cast<int>(*count); ++fd) {
    const std::string name = names.substr(0, names.find(':'));
    names.erase(0, name.size() + 1);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    const bool listens =
        is_option(fd, SO_DOMAIN, AF_UNIX) && is_option(fd, SO_TYPE, SOCK_STREAM) && is_option(fd, SO_ACCEPTCONN, 1);
    // Whatever the unit's name is: what is stored is no socket.
    if (!listens && name.starts_with(tracer::internal::Keeping::kPrefix)) {
      handed.kept.push_back({name, tracer::internal::UniqueFd(fd)});
      continue;
    }
    if (!listens)
      throw tracer::Error({tracer::ErrorCode::kInvalidArgument,
                           0,
                           fmt::format("descriptor {} that was handed over is no Unix stream socket that listens", fd),
                           "in the .socket unit, use ListenStream= with a path",
                           {}});
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    handed.sockets.push_back({tracer::internal::UniqueFd(fd), name});
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return handed;
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
  keeps_descriptors_ = socket_ && number_in("FDSTORE").value_or(0) > 0;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kManagersTime, sizeof kManagersTime);
  const auto patience_us = number_in("WATCHDOG_USEC");
  const auto watched = number_in("WATCHDOG_PID");
  if (patience_us && *patience_us > 0 && (!watched || *watched == ::getpid()))
    watchdog_period_ = std::chrono::milliseconds(*patience_us / 2000);
}

void ServiceManager::tell(std::string_view lines) const noexcept {
  if (socket_) ::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool ServiceManager::send_with(const std::string& lines, int fd) const noexcept {
  return socket_ && tracer::internal::send_with_descriptor(socket_.get(), std::as_bytes(std::span(lines)), fd);
}

/// A map of BPF is always ready with an error: unless it is told not to poll, systemd drops it at once.
bool ServiceManager::store(const std::string& name, int fd) const noexcept {
  return send_with("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name + '\n', fd);
}

/// It closes the other end of the pipe when it comes to this message.
void ServiceManager::wait() const noexcept {
  int ends[2];
  if (!socket_ || ::pipe2(ends, O_CLOEXEC) != 0) return;
  const tracer::internal::UniqueFd here(ends[0]);
  tracer::internal::UniqueFd there(ends[1]);
  if (!send_with("BARRIER=1", there.get())) return;
  there.reset();
  pollfd closed{here.get(), 0, 0};
  ::poll(&closed, 1, static_cast<int>(1000 * kManagersTime.tv_sec));
}

void ServiceManager::drop(const std::string& name) const noexcept {
  const std::string lines = "FDSTOREREMOVE=1\nFDNAME=" + name + '\n';
  if (socket_) ::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL);
}

}  // namespace tracerd
