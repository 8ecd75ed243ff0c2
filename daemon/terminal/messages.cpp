// SPDX-License-Identifier: Apache-2.0
#include "terminal/messages.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace tracerd {
namespace {

constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// Of a terminal, and of none but this process; -1: standard error is none, or can't be opened by it.
int own_terminal = -1;
std::string kept;

bool is_same_terminal(int one, int other) noexcept {
  unsigned first = 0;
  unsigned second = 0;
  return ::ioctl(one, TIOCGDEV, &first) == 0 && ::ioctl(other, TIOCGDEV, &second) == 0 && first == second;
}

void put_kept() noexcept {
  while (!kept.empty()) {
    const ssize_t put = ::write(own_terminal, kept.data(), kept.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    kept.erase(0, put > 0 ? static_cast<std::size_t>(put) : kept.size());
  }
}

}  // namespace

void open_messages() noexcept {
  if (::isatty(STDERR_FILENO) == 0) return;
  own_terminal = ::open("/proc/self/fd/2", kFlags);
  // Another user's, as after su: then it is at least the one that controls this process.
  if (own_terminal < 0) own_terminal = ::open("/dev/tty", kFlags);
  if (own_terminal < 0 || is_same_terminal(own_terminal, STDERR_FILENO)) return;
  ::close(own_terminal);
  own_terminal = -1;
}

void put_message(std::string_view text) {
  if (own_terminal < 0) {
    [[maybe_unused]] const std::size_t put = std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  kept += text;
  put_kept();
}

bool messages_flow() {
  if (own_terminal < 0) return takes_text(STDERR_FILENO);
  put_kept();
  return kept.empty() && takes_text(own_terminal);
}

Written write_messages(std::string_view text, const std::function<bool()>& go_on) {
  const std::string all = std::exchange(kept, {}).append(text);
  return write_patiently(own_terminal < 0 ? STDERR_FILENO : own_terminal, all, go_on);
}

}  // namespace tracerd
