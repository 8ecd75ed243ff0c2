// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/statistics.hpp>

namespace tracer::internal {

/// Which processes of a stream of events live, and sums of those that have ended, by their labels: where no kernel can
/// be asked for them. Any thread.
class Followed {
 public:
  /// Whether the process that has this pid now began then.
  using Lives = std::function<bool(std::uint32_t pid, std::uint64_t start_ns)>;
  /// `max_processes`: remembered at one time; of more, the sums are not known.
  Followed(std::size_t max_processes, Lives lives) : max_processes_(max_processes), lives_(std::move(lives)) {}

  /// An event that was delivered. Where a Loss may stand for ends, looks which processes still live.
  void saw(const Event& event);
  bool has(std::uint32_t pid, std::uint64_t start_ns) const;
  std::vector<ContextTotals> totals() const;
  /// A RunStart, TaskStart and ProcessStart of all that lives, in the order of their beginnings.
  std::vector<Event> living() const;

 private:
  /// Beyond these, contexts have their sums together.
  static constexpr std::size_t kMostContexts = 1u << 16;

  struct Member {
    std::shared_ptr<const Process> process;
    bool is_gone = false;  ///< It does not live, and its end was not seen.
  };

  void began(const std::shared_ptr<const Process>& process);
  void ended(const ProcessExit& exit);
  void look();
  ContextTotals& sums_of(const Context& context);
  static void spoil(ContextTotals& sums);

  const std::size_t max_processes_;
  const Lives lives_;
  mutable std::mutex mutex_;
  std::map<Key, Event> runs_;  ///< The starts of those that have not finished.
  std::map<Key, Event> tasks_;
  std::unordered_map<std::uint32_t, Member> members_;  ///< By pid.
  std::map<Context, ContextTotals> sums_;              ///< By labels; without those of the living.
};

}  // namespace tracer::internal
