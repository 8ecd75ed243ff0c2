// SPDX-License-Identifier: Apache-2.0
#include "base/held_commands.hpp"

#include <mutex>
#include <set>

namespace tracer::internal {
namespace {

struct HeldCommands {
  std::mutex mutex;
  std::set<pid_t> pids;
};

HeldCommands& held_commands() {
  static HeldCommands held;
  return held;
}

}  // namespace

void note_held_command(pid_t pid) {
  const std::lock_guard lock(held_commands().mutex);
  held_commands().pids.insert(pid);
}

void forget_held_command(pid_t pid) noexcept {
  const std::lock_guard lock(held_commands().mutex);
  held_commands().pids.erase(pid);
}

bool is_held_command(pid_t pid) {
  const std::lock_guard lock(held_commands().mutex);
  return held_commands().pids.contains(pid);
}

}  // namespace tracer::internal
