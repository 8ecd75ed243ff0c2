// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <tracer/summary.hpp>

#include "base/tool_name.hpp"
#include "state/failure_chains.hpp"

namespace tracer::internal {

/// Counts failures, those of one tool with the same status together. Bounded: the first kMaxFailures different ones.
class Failures {
 public:
  void add(const FailureOrigin& origin) {
    ++count_;
    const Key key = key_of(origin);
    const auto known = places_.find(key);
    if (known != places_.end()) {
      ++different_[known->second].count;
    } else if (different_.size() < Summary::kMaxFailures) {
      places_.emplace(key, different_.size());
      Failure failure{origin.process, origin.exit_code, origin.exit_signal, origin.core_dumped};
      failure.exit_signal_sender = origin.sender;
      failure.oom_killed = origin.oom_killed;
      failure.sent_by = origin.sender_process;
      different_.push_back(std::move(failure));
    }
  }
  /// What has come of one that was added.
  void resolve(const FailureOrigin& origin, Verdict verdict) {
    const auto known = places_.find(key_of(origin));
    if (known == places_.end()) return;
    Failure& failure = different_[known->second];
    ++(verdict == Verdict::kPassedOn ? failure.passed_on : failure.ignored);
    if (failure.process != origin.process) return;
    failure.passed_on_by = origin.passed_on_by;
    failure.ignored_by = origin.ignored_by;
  }
  /// A task has ended well: the earlier attempts of those for which it holds were retried.
  template <class Succeeded>
  void retried(const Succeeded& succeeded_later) {
    for (Failure& each : different_) each.retried |= succeeded_later(*each.process->context);
  }
  const std::vector<Failure>& different() const noexcept { return different_; }
  std::uint64_t count() const noexcept { return count_; }

 private:
  using Key = std::tuple<std::string, std::optional<std::int32_t>, std::optional<std::int32_t>, bool,
                         std::optional<std::string>, std::optional<bool>>;
  static Key key_of(const FailureOrigin& origin) {
    const Program& program = *origin.process->program;
    return {known_tool(program).value_or(""),
            origin.exit_code,
            origin.exit_signal,
            origin.core_dumped,
            origin.sender,
            origin.oom_killed};
  }

  std::map<Key, std::size_t> places_;  ///< In different_.
  std::vector<Failure> different_;
  std::uint64_t count_ = 0;
};

}  // namespace tracer::internal
