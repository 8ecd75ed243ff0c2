// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include <tracer/event.hpp>

namespace tracer::internal {

/// How many tasks run, wait, are done and have failed; of one that is tried again, the last attempt counts. Bounded:
/// beyond kMost, tasks count only once they are over, and a failure stays one.
class TaskCounts {
 public:
  static constexpr std::size_t kMost = 1u << 16;

  void saw(const TaskSubmit& submit);
  void saw(const TaskStart& start) { open(*start.context, true); }
  void saw(const TaskFinish& finish);
  void saw(const ContextChange& change);

  /// There were any.
  bool any() const noexcept { return running() + queued_ + done_ + failed() != 0; }
  std::uint64_t running() const noexcept { return open_.size() - queued_; }
  std::uint64_t queued() const noexcept { return queued_; }
  std::uint64_t done() const noexcept { return done_; }
  std::uint64_t failed() const noexcept { return failed_.size() + more_failed_; }

 private:
  void open(const Context& context, bool runs);
  void close(const Context& context);
  void ended(const Context& context, bool failed);

  std::unordered_map<std::uint64_t, bool> open_;  ///< By key, whether it runs.
  std::uint64_t queued_ = 0;                      ///< Of these.
  std::uint64_t done_ = 0;
  std::unordered_multiset<std::uint64_t> failed_;  ///< By attempts_hash().
  std::uint64_t more_failed_ = 0;
};

}  // namespace tracer::internal
