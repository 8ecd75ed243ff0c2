// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tracer/error.hpp>

#include "base/unique_fd.hpp"
#include "commands.hpp"
#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"
#include "show/printable.hpp"

namespace tracerd {
namespace {

using tracer::Error;
using tracer::ErrorCode;

constexpr const char* kDefaultSocket = "/run/tracer/tracer.sock";
constexpr timeval kPatience{10, 0};

/// The reply to one request.
std::string ask(const std::string& socket_path, const tracer::internal::Request& request) {
  const auto fail = [&](const char* what) {
    throw Error({ErrorCode::kNoService,
                 errno,
                 fmt::format("{} {}", what, socket_path),
                 "start the service: sudo systemctl start tracerd, or sudo tracerd serve",
                 {}});
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  errno = ENAMETOOLONG;
  if (socket_path.size() >= sizeof address.sun_path) fail("no service can listen on");
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  const tracer::internal::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("no service listens on");
  const std::string line = tracer::internal::to_line(request);
  if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    fail("the service takes no request on");
  tracer::internal::LineSplitter lines(tracer::internal::kMaxReplyBytes);
  std::array<std::byte, 65536> buffer;
  for (;;) {
    if (const auto reply = lines.next()) return std::string(*reply);
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0 || lines.too_long()) fail("the service does not answer on");
    lines.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
  }
}

std::string text_of(const nlohmann::json& status) {
  using tracer::internal::printable;
  const auto number = [](const nlohmann::json& object, const char* key) { return object.value(key, std::uint64_t{0}); };
  std::string text = fmt::format("tracerd {}, process {}, running for {} s\n", status.value("tracer_version", "?"),
                                 number(status, "pid"), number(status, "uptime_s"));
  text += "traces:";
  for (const auto& family : status.value("families", nlohmann::json::array()))
    text += fmt::format(" {}{}", family.value("family", "?"), family.value("active", false) ? "" : " (off)");
  const auto cost = status.value("cost", nlohmann::json::object());
  text += fmt::format("\ncost:   {:.1f} s of CPU time, {:.1f} MiB of memory; {} events\n",
                      static_cast<double>(number(cost, "cpu_ns")) / 1e9,
                      static_cast<double>(number(cost, "memory_bytes")) / (1 << 20), number(status, "events"));
  std::string losses;
  for (const auto& [cause, count] : status.value("losses", nlohmann::json::object()).items())
    losses += fmt::format("{}{} {}", losses.empty() ? "" : ", ", count.dump(), printable(cause));
  text += fmt::format("lost:   {}\n", losses.empty() ? "nothing" : losses);
  for (const auto& user : status.value("users", nlohmann::json::array()))
    text += fmt::format(
        "user {}: {} connections, {} subscriptions, {} announcements, {} labels, {} bytes{}\n", number(user, "uid"),
        number(user, "connections"), number(user, "subscriptions"), number(user, "announcements"),
        number(user, "labels"), number(user, "bytes"),
        number(user, "dropped_events") == 0 ? "" : fmt::format("; {} events dropped", number(user, "dropped_events")));
  const auto recordings = status.value("more", nlohmann::json::object()).value("recordings", nlohmann::json());
  if (recordings.is_object())
    text += fmt::format("records to {}{}\n", printable(recordings.value("file", "?")),
                        recordings.value("problem", nlohmann::json()).is_string()
                            ? ", which fails: " + printable(recordings["problem"].get<std::string>())
                            : "");
  return text;
}

}  // namespace

int status_command(const Options& options) {
  const std::string reply = ask(options.socket.value_or(kDefaultSocket), tracer::internal::StatusRequest{});
  const std::string status = tracer::internal::status_from(reply).status;
  if (options.as_json) {
    fmt::print("{}\n", status);
  } else {
    fmt::print("{}", text_of(nlohmann::json::parse(status)));
  }
  return 0;
}

}  // namespace tracerd
