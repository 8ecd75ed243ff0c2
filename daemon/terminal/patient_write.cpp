// SPDX-License-Identifier: Apache-2.0
#include "terminal/patient_write.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tracerd {
namespace {

/// For so much there is room where poll() finds some: in pipes, and nearly always in terminals.
constexpr std::size_t kPiece = 256;
constexpr int kPatienceMs = 100;
constexpr int kPauseMs = 10;

bool wait_for_room(int fd, int timeout_ms) noexcept {
  pollfd room{fd, POLLOUT, 0};
  return ::poll(&room, 1, timeout_ms) > 0;
}

}  // namespace

bool takes_text(int fd) noexcept { return wait_for_room(fd, 0); }

Written write_patiently(int fd, std::string_view text, const std::function<bool()>& go_on) {
  while (!text.empty()) {
    if (!wait_for_room(fd, kPatienceMs)) {
      if (!go_on()) return Written::kGivenUp;
      continue;
    }
    const ssize_t put = ::write(fd, text.data(), std::min(text.size(), kPiece));
    if (put < 0 && errno == EAGAIN) {
      // Somebody else was faster, or it needs more room than it said.
      ::poll(nullptr, 0, kPauseMs);
      if (!go_on()) return Written::kGivenUp;
      continue;
    }
    if (put == 0 || (put < 0 && errno != EINTR)) return Written::kFailed;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
  }
  return Written::kAll;
}

}  // namespace tracerd
