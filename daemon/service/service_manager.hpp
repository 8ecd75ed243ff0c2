// SPDX-License-Identifier: Apache-2.0
/// What systemd, or whatever starts the service as it does, hands over and wants to know. Nothing of it is needed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "serve/restart_keeping.hpp"

namespace tracerd {

/// A socket that was listening before this program began (LISTEN_FDS).
struct HandedSocket {
  tracer::internal::UniqueFd fd;
  std::string name;  ///< Of LISTEN_FDNAMES.
};

struct Handed {
  std::vector<HandedSocket> sockets;
  /// That an earlier process of the service stored: of those names.
  std::vector<tracer::internal::Keeping::Descriptor> kept;
};

/// Takes them, once, before other descriptors are opened. Throws tracer::Error(kInvalidArgument): one is none of these.
Handed take_handed();

/// To be made while the rights are there to reach the manager's socket (NOTIFY_SOCKET).
class ServiceManager {
 public:
  ServiceManager();
  /// Lines such as "READY=1". Does nothing without a manager.
  void tell(std::string_view lines) const noexcept;
  /// It keeps descriptors for the next process (FDSTORE, which systemd says since version 254).
  bool keeps_descriptors() const noexcept { return keeps_descriptors_; }
  /// Waits for the manager, for a moment at most. False: it has not got it.
  bool store(const std::string& name, int fd) const noexcept;
  void drop(const std::string& name) const noexcept;
  /// Until it has done what it was told, for a moment at most.
  void wait() const noexcept;
  /// How often it wants to hear WATCHDOG=1; half of its patience. Absent: not at all.
  std::optional<std::chrono::milliseconds> watchdog_period() const noexcept { return watchdog_period_; }

 private:
  bool send_with(const std::string& lines, int fd) const noexcept;

  tracer::internal::UniqueFd socket_;
  bool keeps_descriptors_ = false;
  std::optional<std::chrono::milliseconds> watchdog_period_;
};

}  // namespace tracerd
