// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tracer/summary.hpp>

namespace tracer::internal {

/// Which processes are joined by pipes, from what each waited for and who ended its waits. Processes that are joined
/// are one pipe; pipes of the same tools are reported together. What a process exchanges with its parent is one only
/// where it is data: a shell reads in the same way the few words that a command prints. Bounded: pipes whose processes
/// ended long ago are sums by tool.
class PipeGraph {
 public:
  void saw(const Process& process);
  void ended(const ProcessExit& exit);
  std::vector<Pipeline> pipelines() const;

 private:
  static constexpr std::size_t kMostEnded = 8192;
  static constexpr std::size_t kMostMembers = 65536;
  static constexpr std::size_t kMostNeighbors = 256;  ///< Of one process.
  static constexpr std::size_t kMostPipes = 1024;

  struct Id {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
    auto operator<=>(const Id&) const = default;
  };
  /// Of a process, not its threads: of many, one may be all that reads or writes.
  struct Stage {
    std::uint64_t life_ns = 0;  ///< Since it is followed. 0: it has no ledger, or lives.
    std::uint64_t pipe_ns = 0;
    std::uint64_t data_bytes = 0;  ///< The most that one of its processes has read or written.
    std::uint64_t poll_ns = 0;  ///< Waits for any of several things, of which it is not known whether they were pipes.
  };
  struct Member {
    std::string tool;
    std::optional<std::uint32_t> parent_pid;
    std::optional<std::uint64_t> end_ns;
    std::uint64_t read_bytes = 0;  ///< At its end, as is written_bytes.
    std::uint64_t written_bytes = 0;
    Stage stage;
    std::set<Id> writers;  ///< To it; they are members, and have it among their readers.
    std::set<Id> readers;
  };
  using Members = std::map<Id, Member>;
  /// By the names of the stages, writers first.
  using Pipes = std::map<std::vector<std::string>, std::map<std::string, Stage>>;

  static Stage stage_of(const ProcessExit& exit);
  static bool is_data(const Member& writer, const Id& writer_id, const Member& reader, const Id& reader_id);
  Members::iterator peer_of(std::uint32_t pid, const Id& of, const ProgramAccount& program);
  void join(Members::iterator writer, Members::iterator reader);
  void forget(const Id& id);
  std::set<Id> joined_to(const Id& id) const;
  void add_pipe(const std::set<Id>& together, Pipes& pipes) const;

  Members members_;
  std::deque<Id> ended_;  ///< In the order of their ends.
  Pipes pipes_;           ///< Of members that are forgotten.
};

}  // namespace tracer::internal
