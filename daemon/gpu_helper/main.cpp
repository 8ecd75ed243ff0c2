// SPDX-License-Identifier: Apache-2.0
/// tracer-gpu [--library FILE]: asks NVIDIA's management library once a second, and prints the state for each byte that
/// comes on its standard input. lib/source/gpu/nvml_state.hpp says how. Ends when nobody reads it any more.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "nvml.hpp"
#include "rights.hpp"
#include "sums.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPeriod = std::chrono::seconds(1);
/// A call of the library that takes longer ends this program.
constexpr unsigned kMostCallSeconds = 10;

bool print(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<std::size_t>(put);
  }
  return true;
}

/// The texts are the library's.
bool print_line(const char* kind, std::string text) {
  constexpr std::size_t kMostBytes = 400;
  text.resize(std::min(text.size(), kMostBytes));
  for (char& c : text)
    if (c < ' ' || c >= 0x7f) c = '?';
  return print(std::string(kind) + ' ' + text + '\n');
}

int fail(const std::string& why) {
  print_line("failed", why);
  return 3;
}

/// While it lives, the program ends after a time.
class Watchdog {
 public:
  Watchdog() { ::alarm(kMostCallSeconds); }
  ~Watchdog() { ::alarm(0); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

/// False: nobody asks any more.
bool answer(const tracer_gpu::Sums& sums) {
  char asked[64];
  const ssize_t got = ::read(STDIN_FILENO, asked, sizeof asked);
  if (got < 0 && errno == EINTR) return true;
  return got > 0 && print(sums.text());
}

}  // namespace

int main(int argc, char** argv) {
  const bool named = argc == 3 && std::strcmp(argv[1], "--library") == 0;
  if (argc != 1 && !named) return fail("usage: tracer-gpu [--library FILE]");
  if (!tracer_gpu::give_up_rights()) return fail("tracer-gpu can't give up its rights");
  tracer_gpu::Nvml nvml;
  {
    const Watchdog watchdog;
    if (const std::string why = nvml.open(named ? argv[2] : "libnvidia-ml.so.1"); !why.empty()) return fail(why);
    if (!print_line("nvml", nvml.version())) return 0;
  }
  tracer_gpu::Sums sums(nvml);
  for (auto next = Clock::now();;) {
    if (const auto now = Clock::now(); now >= next) {
      const Watchdog watchdog;
      sums.sample();
      next = now + kPeriod;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    pollfd asked{STDIN_FILENO, POLLIN, 0};
    if (::poll(&asked, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0) > 0 && !answer(sums)) return 0;
  }
}
