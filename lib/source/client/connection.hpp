// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/error.hpp>

#include "base/unique_fd.hpp"
#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {

/// How long a service has for one answer.
inline constexpr std::chrono::milliseconds kLongestAnswer{2000};
/// And for the first one, where a service manager listens for it and starts it.
inline constexpr std::chrono::milliseconds kLongestStart{15000};

/// A non-blocking connection to the service that listens on `socket`. Throws Error: kNoService, kPermission,
/// kInvalidArgument, kNoMemory.
UniqueFd connect_to_service(const std::filesystem::path& socket);

/// The service at `socket` did not answer, or is gone.
[[noreturn]] void refuse_silent(const std::filesystem::path& socket, const char* what, int error_number = 0);

/// One connection for requests and their replies. One thread at a time.
class ServiceConnection {
 public:
  /// Throws what connect_to_service() throws.
  explicit ServiceConnection(std::filesystem::path socket)
      : socket_(std::move(socket)), fd_(connect_to_service(socket_)), may_start_(is_of_manager()) {}

  ServiceConnection(ServiceConnection&&) noexcept = default;
  ServiceConnection& operator=(ServiceConnection&&) noexcept = default;
  ~ServiceConnection();

  /// The reply to `request`, a line without its end, valid until the next call. Throws Error: kNoService when the
  /// service is gone or does not answer in time, kServiceRefused for a reply without an end. The connection is of no
  /// use then.
  std::string_view ask(const Request& request) { return ask(request, nullptr); }
  /// Likewise, with the descriptors that come with it.
  std::string_view ask(const Request& request, std::vector<UniqueFd>& passed) { return ask(request, &passed); }
  bool usable() const noexcept { return usable_; }
  /// False: the service is in a pid namespace that this process does not see.
  bool shares_pids() const noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  /// The first process of the host has made the socket.
  bool is_of_manager() const noexcept;
  void send(std::string_view line, Clock::time_point until);
  std::string_view ask(const Request& request, std::vector<UniqueFd>* passed);
  std::string_view receive(Clock::time_point until, std::vector<UniqueFd>* passed);
  void wait(short events, Clock::time_point until);

  std::filesystem::path socket_;
  UniqueFd fd_;
  LineSplitter lines_{kMaxReplyBytes};
  bool usable_ = true;
  bool may_start_ = false;  ///< No answer has come yet of a service that may be starting.
};

}  // namespace tracer::internal
