// SPDX-License-Identifier: Apache-2.0
#include "serve/listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer::internal {
namespace {

constexpr int kBacklog = 1024;

[[noreturn]] void refuse(ErrorCode code, int error_number, std::string what, std::string fix) {
  throw Error({code, error_number, std::move(what), std::move(fix), {}});
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (!path.is_absolute() || name.find('\0') != std::string::npos)
    refuse(ErrorCode::kInvalidArgument, 0, fmt::format("the socket {} is no absolute path", name),
           "give the whole path, from /");
  if (name.size() >= sizeof address.sun_path)
    refuse(
        ErrorCode::kInvalidArgument, ENAMETOOLONG,
        fmt::format("the path of the socket has {} bytes, and may have {}", name.size(), sizeof address.sun_path - 1),
        "give a shorter one, such as /run/tracer/tracer.sock");
  std::copy(name.begin(), name.end(), address.sun_path);
  return address;
}

UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

UniqueFd listen_on(const std::filesystem::path& path, mode_t mode) {
  const sockaddr_un address = address_of(path);
  const std::filesystem::path temporary = path.native() + fmt::format(".{}", ::getpid());
  const sockaddr_un own = address_of(temporary);
  const auto unwritable = [&](const char* what) {
    refuse(ErrorCode::kFileUnwritable, errno, fmt::format("{} {}", what, path.native()),
           "look whether its folder exists and can be written to");
  };
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      refuse(ErrorCode::kFileUnwritable, EEXIST, fmt::format("{} is there, and is no socket", path.native()),
             "move it away, or name another socket");
    const UniqueFd probe = make_socket();
    const int connected = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (connected == 0 || errno == EAGAIN)
      refuse(ErrorCode::kContradiction, EADDRINUSE, fmt::format("a service listens on {} already", path.native()),
             "stop it first (systemctl stop tracerd), or name another socket");
  }
  UniqueFd listening = make_socket();
  if (!listening) unwritable("can't make a socket for");
  ::unlink(temporary.c_str());
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    unwritable("can't make the socket");
  const bool named = ::chmod(temporary.c_str(), mode) == 0 && ::listen(listening.get(), kBacklog) == 0 &&
                     ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!named) {
    const int error_number = errno;
    ::unlink(temporary.c_str());
    errno = error_number;
    unwritable("can't name the socket");
  }
  return listening;
}

}  // namespace tracer::internal
