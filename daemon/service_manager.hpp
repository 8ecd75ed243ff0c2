// SPDX-License-Identifier: Apache-2.0
/// What systemd, or whatever starts the service as it does, hands over and wants to know. Nothing of it is needed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace tracerd {

/// A socket that was listening before this program began (LISTEN_FDS).
struct HandedSocket {
  tracer::internal::UniqueFd fd;
  std::string name;  ///< Of LISTEN_FDNAMES.
};

/// Takes them, once. Throws tracer::Error(kInvalidArgument): one is no listening Unix stream socket.
std::vector<HandedSocket> take_handed_sockets();

/// To be made while the rights are there to reach the manager's socket (NOTIFY_SOCKET).
class ServiceManager {
 public:
  ServiceManager();
  /// Lines such as "READY=1". Does nothing without a manager.
  void tell(std::string_view lines) const noexcept;
  /// How often it wants to hear WATCHDOG=1; half of its patience. Absent: not at all.
  std::optional<std::chrono::milliseconds> watchdog_period() const noexcept { return watchdog_period_; }

 private:
  tracer::internal::UniqueFd socket_;
  std::optional<std::chrono::milliseconds> watchdog_period_;
};

}  // namespace tracerd
