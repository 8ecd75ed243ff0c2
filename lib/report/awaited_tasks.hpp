// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

namespace tracer::internal {

/// For which other tasks the processes of a task waited, by pipes. Bounded: waits of and for processes that find no
/// place are for nobody.
class AwaitedTasks {
 public:
  void add(const Event& event);
  /// The others' keys, and the part of each in `pipe_ns`, for which the task as a whole waited for pipes; the longest
  /// first.
  std::vector<std::pair<Key, std::uint64_t>> awaited_by(Key task, std::uint64_t pipe_ns) const;

 private:
  static constexpr std::size_t kMost = 500'000;

  /// Its waits in one direction, and the process that ended most of them.
  struct Waits {
    std::uint64_t wait_ns = 0;
    std::optional<std::uint32_t> peer_pid = {};
  };
  /// That was in a task.
  struct Member {
    Key task = {};
    std::uint64_t end_ns = 0;  ///< Of one that lives: its last sample.
    Waits reads = {};
    Waits writes = {};
  };
  using Id = std::pair<std::uint32_t, std::uint64_t>;  ///< Its pid, and when it began.

  void saw(const Process& process, std::uint64_t time_ns, const Account& account);
  const Member* peer_of(const Id& id, const Member& member, std::uint32_t pid) const;

  std::map<Id, Member> members_;
};

}  // namespace tracer::internal
