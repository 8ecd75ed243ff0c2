// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include <tracer/event.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// What lived before the session counts from when it was attached: by the difference to its first sample, and its CPU
/// time by its ledger. Events have figures of its whole life. Bounded: by what lives.
class SinceAttach {
 public:
  /// The event as it counts. `attached_ns` is left only in those whose figures begin there.
  Event of(const Event& event);
  /// Processes that lived before, and the CPU time that they had used until then.
  std::uint64_t processes() const noexcept { return processes_; }
  std::uint64_t cpu_before_ns() const noexcept { return cpu_before_ns_; }

 private:
  /// Of one that lived before.
  struct Known {
    std::optional<Account> before = {};  ///< Absent: no sample came soon enough.
    std::uint64_t cpu_before_ns = 0;
    std::uint64_t held_bytes = 0;  ///< The most at a sample.
    bool is_met = false;           ///< And counted.
    bool executed = false;         ///< Since then.
    bool is_command = false;       ///< That was held until it was followed: it has done nothing before.
  };

  void forget(const Process& process);
  bool lived_before(const Process& process) const;
  Known& meet(const Process& process, std::uint64_t attached_ns, std::uint64_t time_ns, const Account& account,
              bool is_sample);
  static void take_off(Account& account, const Known& known);
  Event sampled(const ProcessSample& sample);
  Event executed(const ProcessExec& exec);
  Event ended(const ProcessExit& exit);

  std::unordered_map<ProcessId, Known, ProcessIdHash> known_;
  std::uint64_t begin_ns_ = 0;  ///< Of the first event.
  std::uint64_t processes_ = 0;
  std::uint64_t cpu_before_ns_ = 0;
};

}  // namespace tracer::internal
