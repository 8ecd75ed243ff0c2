// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tracer/summary.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// What a process did in its last program, as far as pipes go: up to its end, or to its last sample.
struct PipeUse {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;  ///< Of the process.
  std::uint64_t begin_ns = 0;  ///< Of the program; 0: not known.
  std::uint64_t end_ns = 0;
  std::uint64_t life_ns = 0;  ///< Since it is followed. 0: it has no ledger.
  std::uint64_t read_wait_ns = 0;
  std::uint64_t write_wait_ns = 0;
  std::uint64_t pipe_ns = 0;
  std::uint64_t poll_ns = 0;
  std::uint64_t sleep_ns = 0;  ///< Of the process as a whole, as the next two. 0: not known.
  std::uint64_t network_ns = 0;
  std::uint64_t disk_ns = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint32_t writer_pid = 0;  ///< Who ended most of its waits for data; 0: not known, as below.
  std::uint32_t reader_pid = 0;
};
PipeUse pipe_use_of(const ProcessExit& exit) noexcept;
/// As if it ended then.
PipeUse pipe_use_of(const ProcessSample& sample) noexcept;

/// Which processes are joined by pipes, from what each waited for and who ended its waits. Processes that are joined
/// are one pipe; pipes of the same tools are reported together. What a process exchanges with its parent is one only
/// where it is data, by what the child has read or written when it ends: a shell reads in the same way the few words
/// that a command prints. Bounded: pipes whose processes ended long ago are sums by tool.
class PipeGraph {
 public:
  void saw(const Process& process) { saw(process, process.program->tool); }
  /// With the name that it is called by; absent: it has none.
  void saw(const Process& process, const std::optional<std::string>& tool);
  void ended(const ProcessExit& exit) {
    saw(*exit.process);
    ended(pipe_use_of(exit));
  }
  /// Of one that was seen before.
  void ended(const PipeUse& use);
  std::vector<Pipeline> pipelines() const;

 private:
  static constexpr std::size_t kMostEnded = 8192;
  static constexpr std::size_t kMostMembers = 65536;
  static constexpr std::size_t kMostNeighbors = 256;  ///< Of one process.
  static constexpr std::size_t kMostPipes = 1024;

  /// Of a process, not its threads: of many, one may be all that reads or writes.
  struct Stage {
    std::uint64_t life_ns = 0;  ///< Since it is followed. 0: it has no ledger, or lives.
    std::uint64_t pipe_ns = 0;
    std::uint64_t data_bytes = 0;  ///< The most that one of its processes has read or written.
    std::uint64_t poll_ns = 0;  ///< Waits for any of several things, of which it is not known whether they were pipes.
    std::uint64_t sleep_ns = 0;
    std::uint64_t network_ns = 0;
    std::uint64_t disk_ns = 0;

    void add(const Stage& more);
    std::string waits_for() const;
  };
  struct Member {
    std::string tool;
    std::optional<std::uint32_t> parent_pid;
    std::optional<std::uint64_t> end_ns;
    std::uint64_t read_bytes = 0;  ///< At its end, as is written_bytes.
    std::uint64_t written_bytes = 0;
    Stage stage;
    std::vector<ProcessId> writers;  ///< To it, in order; they are members, and have it among their readers.
    std::vector<ProcessId> readers;
  };
  using Members = std::map<ProcessId, Member, ByPid>;
  /// By the names of the stages, writers first.
  using Pipes = std::map<std::vector<std::string>, std::map<std::string, Stage>>;

  bool is_data(const ProcessId& writer, const ProcessId& reader) const;
  Members::iterator peer_of(std::uint32_t pid, const PipeUse& use);
  void join(Members::iterator writer, Members::iterator reader);
  void forget(const ProcessId& id);
  std::set<ProcessId, ByPid> joined_to(const ProcessId& id) const;
  void add_pipe(const std::set<ProcessId, ByPid>& together, Pipes& pipes) const;

  Members members_;
  std::list<ProcessId>
      ended_;    ///< In the order of their ends. There is a graph of each task: if empty, it takes no memory.
  Pipes pipes_;  ///< Of members that are forgotten.
};

}  // namespace tracer::internal
