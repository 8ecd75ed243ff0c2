// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/context.hpp>

#include "base/caller.hpp"
#include "base/unique_fd.hpp"

namespace tracer::internal {

/// What clients have said of processes, in memory that outlives the service: announcements, the numbers of labels, and
/// which processes are commands. Any thread.
class Said {
 public:
  /// Beyond it, the oldest announcements are given up.
  static constexpr std::size_t kMostBytes = 64u << 20;

  struct Announced {
    Announcement announcement;
    Caller caller;
  };
  struct Left {
    std::map<std::uint32_t, Context> contexts;
    std::vector<Announced> announcements;  ///< Those that hold now.
    std::vector<pid_t> commands;           ///< That live.
  };

  /// Throws Error(kNoMemory).
  Said();
  explicit Said(UniqueFd memory);
  static Left read(int memory);

  int memory() const noexcept { return memory_.get(); }
  /// Called when what was said is kept in other memory from now on.
  void when_moved(std::function<void(int memory)> moved) { moved_ = std::move(moved); }

  void numbered(std::uint32_t number, const Context* context) noexcept;
  void announced(const Announcement& announcement, const Caller& caller) noexcept;
  void command(pid_t pid) noexcept;

 private:
  void append(std::string line) noexcept;
  void make_room();

  std::mutex mutex_;
  UniqueFd memory_;
  std::size_t used_ = 0;
  std::size_t least_to_move_ = 1u << 20;
  std::function<void(int memory)> moved_;
};

}  // namespace tracer::internal
