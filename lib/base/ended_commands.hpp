// SPDX-License-Identifier: Apache-2.0
/// Commands of this process that have ended and were not waited for yet: what /proc says of them then is final, and
/// gone a moment later.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tracer::internal {

/// Files of /proc/PID.
struct LastLook {
  std::string stat;
  std::string schedstat;
  std::string status;
  std::string io;
};

/// While one lives, last looks are kept.
class LastLooksWanted {
 public:
  LastLooksWanted() noexcept;
  ~LastLooksWanted();
  LastLooksWanted(const LastLooksWanted&) = delete;
  LastLooksWanted& operator=(const LastLooksWanted&) = delete;
};

/// To be called before a child is waited for, whether it has ended or not. Costs nothing where nobody wants it.
void keep_last_look(pid_t child) noexcept;
/// Once.
std::optional<LastLook> take_last_look(pid_t pid);

}  // namespace tracer::internal
