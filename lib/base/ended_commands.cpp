// SPDX-License-Identifier: Apache-2.0
#include "base/ended_commands.hpp"

#include <sys/wait.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostLooks = 256;

struct LastLooks {
  std::atomic<int> wanted{0};
  std::mutex mutex;
  std::map<pid_t, LastLook> looks;
};

LastLooks& last_looks() {
  static LastLooks looks;
  return looks;
}

}  // namespace

LastLooksWanted::LastLooksWanted() noexcept { last_looks().wanted.fetch_add(1); }
LastLooksWanted::~LastLooksWanted() {
  if (last_looks().wanted.fetch_sub(1) != 1) return;
  const std::lock_guard lock(last_looks().mutex);
  last_looks().looks.clear();
}

void keep_last_look(pid_t child) noexcept try {
  if (last_looks().wanted.load() == 0) return;
  siginfo_t end{};
  if (::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid != child) return;
  const auto text = [&](const char* name) { return read_small_file(fmt::format("/proc/{}/{}", child, name)); };
  LastLook look;
  look.stat = text("stat").value_or("");
  look.schedstat = text("schedstat").value_or("");
  look.status = text("status").value_or("");
  look.io = text("io").value_or("");
  const std::lock_guard lock(last_looks().mutex);
  if (last_looks().looks.size() >= kMostLooks) last_looks().looks.clear();
  last_looks().looks.insert_or_assign(child, std::move(look));
} catch (...) {
  // Without memory its last figures are those of the last look.
}

std::optional<LastLook> take_last_look(pid_t pid) {
  const std::lock_guard lock(last_looks().mutex);
  const auto look = last_looks().looks.find(pid);
  if (look == last_looks().looks.end()) return std::nullopt;
  std::optional<LastLook> taken(std::move(look->second));
  last_looks().looks.erase(look);
  return taken;
}

}  // namespace tracer::internal
