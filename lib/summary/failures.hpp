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

namespace tracer::internal {

/// Counts failures, those of one tool with the same status together. Bounded: the first kMaxFailures different ones.
class Failures {
 public:
  void add(const ProcessExit& exit) {
    ++count_;
    const Key key{exit.process->program->tool.value_or(exit.process->program->comm.value_or("")), exit.exit_code,
                  exit.exit_signal, exit.core_dumped};
    const auto known = places_.find(key);
    if (known != places_.end()) {
      ++different_[known->second].count;
    } else if (different_.size() < Summary::kMaxFailures) {
      places_.emplace(key, different_.size());
      different_.push_back({exit.process, exit.exit_code, exit.exit_signal, exit.core_dumped, 1});
    }
  }
  const std::vector<Failure>& different() const noexcept { return different_; }
  std::uint64_t count() const noexcept { return count_; }

 private:
  using Key = std::tuple<std::string, std::optional<std::int32_t>, std::optional<std::int32_t>, bool>;
  std::map<Key, std::size_t> places_;  ///< In different_.
  std::vector<Failure> different_;
  std::uint64_t count_ = 0;
};

}  // namespace tracer::internal
