// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <tracer/event.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// What processes that live have done in programs that they have ended: a sample has all of it.
class EndedPrograms {
 public:
  static constexpr std::size_t kMost = 65536;

  void saw(const ProcessExec& exec);
  void saw(const ProcessExit& exit) { ended_.erase(id_of(*exit.process)); }
  /// What the sample of a process has of the program that it runs now.
  ProgramAccount living(const ProcessSample& sample) const;
  /// Since when it counts: of a command that was held, since its program began.
  std::uint64_t begin_of(const Process& process) const;
  bool full() const noexcept { return ended_.size() >= kMost; }
  /// Ends of others were lost.
  template <class Lives>
  void keep_if(const Lives& lives) {
    std::erase_if(ended_, [&](const auto& each) { return !lives(each.first); });
  }

 private:
  struct Ended {
    Account account;
    std::uint64_t program_start_ns = 0;
    std::optional<std::uint64_t> begin_ns;
  };

  std::unordered_map<ProcessId, Ended, ProcessIdHash> ended_;
};

}  // namespace tracer::internal
