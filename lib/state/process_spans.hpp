// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <tracer/event.hpp>

namespace tracer::internal {

/// Figures of a process that findings look at, since it was followed. What is unknown is 0, and `known` is false then.
struct ProcessFigures {
  bool known = false;  ///< Its CPU time and its ledgers are known.
  std::uint64_t cpu_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t write_calls = 0;
  std::uint64_t network_bytes = 0;  ///< Sent and received.
  std::uint64_t switches = 0;       ///< Voluntary ones: waits that ended.
  std::uint64_t queued_ns = 0;      ///< Of its threads, as the next two.
  std::uint64_t lock_ns = 0;
  std::uint64_t thread_ns = 0;
  ProcessLedger ledger = {};
};

/// What a process did from one sample to the next, or to its end.
struct ProcessSpan {
  std::shared_ptr<const Process> process;  ///< Never null.
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
  bool ended = false;
  std::uint64_t threads = 1;   ///< At its end; of one that has ended, as last seen.
  ProcessFigures total = {};   ///< Up to its end.
  ProcessFigures change = {};  ///< In it.
  std::optional<std::uint32_t> pipe_read_peer_pid = {};
  std::optional<std::uint32_t> pipe_write_peer_pid = {};
  std::optional<std::string> disk_wait_device = {};  ///< For which its threads waited most of their waits for disks.
};

/// The key of the task that a process is in, else of its run; 0: in neither.
std::uint64_t work_key(const Context& context) noexcept;

/// Cuts the lives of processes at their samples. Bounded: by what lives; beyond, a span begins with the process.
class ProcessSpans {
 public:
  ProcessSpan sampled(const ProcessSample& sample);
  ProcessSpan ended(const ProcessExit& exit);

 private:
  struct Seen {
    std::uint64_t start_ns = 0;
    std::uint64_t to_ns = 0;
    std::uint64_t threads = 1;
    ProcessFigures total = {};
  };

  ProcessSpan span(const std::shared_ptr<const Process>& process, std::uint64_t begin_ns, std::uint64_t to_ns,
                   const Account& account) const;

  std::unordered_map<std::uint32_t, Seen> seen_;  ///< By pid.
};

}  // namespace tracer::internal
