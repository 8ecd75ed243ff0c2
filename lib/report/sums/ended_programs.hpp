// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// Programs of a process that share CPU time: how much of it each had is not known.
struct JoinedPrograms {
  std::vector<std::pair<std::shared_ptr<const Context>, ProgramAccount>> programs = {};  ///< And where they ran.
  std::uint64_t cpu_ns = 0;                                                              ///< Beyond their lower bounds.
};

/// What processes that live have done in programs that they have ended: a sample has all of it.
class EndedPrograms {
 public:
  static constexpr std::size_t kMost = 65536;
  static constexpr std::size_t kMostJoined = 8;  ///< Of a process; of one with more nothing is known.

  void saw(const ProcessExec& exec);
  void saw(const ProcessExit& exit) { ended_.erase(id_of(*exit.process)); }
  /// Before saw(): the programs whose CPU time is not known each, but all together.
  std::optional<JoinedPrograms> joined(const ProcessExit& exit) const;
  /// What the sample of a process has of the program that it runs now.
  ProgramAccount living(const ProcessSample& sample) const;
  /// Since when it counts: of a command that was held, since its program began; of what lived before, since then.
  std::uint64_t begin_of(const ProcessSample& sample) const;
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
    JoinedPrograms joined;
  };

  std::unordered_map<ProcessId, Ended, ProcessIdHash> ended_;
};

}  // namespace tracer::internal
