// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/context.hpp>

#include "base/accounts.hpp"
#include "base/caller.hpp"
#include "base/side_thread.hpp"
#include "base/unique_fd.hpp"
#include "context/submissions.hpp"

namespace tracer::internal {

/// What clients have said, in memory that outlives the service: announcements, what was submitted, the numbers of
/// labels, and which processes are commands. Each is charged to its user as it is written; what finds no room ends with
/// this process, and is counted. Any thread: what holds moves into new memory on a thread of its own.
class Said {
 public:
  static constexpr std::size_t kMostBytes = 64u << 20;  ///< Of what holds.
  /// The cause under which is counted what finds no room.
  static constexpr std::string_view kFull = "said_full";

  struct Announced {
    Announcement announcement;
    Caller caller;
  };
  struct Submitted {
    Submission submission;
    Caller caller;
    SubmittedEarlier earlier;
    std::optional<Withdrawal> withdrawal = {};  ///< That it is over was not told.
  };
  struct Left {
    std::map<std::uint32_t, Context> contexts;
    std::vector<Announced> announcements;  ///< Those that hold now.
    std::vector<Submitted> submitted;
    std::vector<pid_t> commands;  ///< That live.
  };

  /// Throws Error(kNoMemory).
  explicit Said(std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>());
  Said(UniqueFd memory, std::shared_ptr<Accounts> accounts);
  ~Said();
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  static Left read(int memory);

  int memory() const noexcept;
  /// Called when what was said is kept in other memory from now on, on a thread of this.
  void when_moved(std::function<void(int memory)> moved);

  void numbered(std::uint32_t number, const Context* context) noexcept;
  /// `task`: that it gives, which may have been submitted: with the end of that, the announcement ends.
  void announced(const Announcement& announcement, const Caller& caller, std::optional<Key> task = {}) noexcept;
  void submitted(Key key, const Submission& submission, const Caller& caller) noexcept;
  void withdrawn(const Withdrawal& withdrawal, const Caller& caller) noexcept;
  /// That is delivered now.
  void told(const TaskSubmit& submit) noexcept;
  void command(pid_t pid) noexcept;

 private:
  bool append(std::string_view line, uid_t user);
  bool append_of(Key key, std::string_view line);

  struct State;
  /// Shared with the thread that moves.
  const std::shared_ptr<State> state_;
  SideThread mover_;
};

}  // namespace tracer::internal
