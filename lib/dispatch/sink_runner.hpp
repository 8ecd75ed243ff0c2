// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <tracer/sink.hpp>

#include "base/counter.hpp"
#include "base/reached.hpp"
#include "dispatch/queue_state.hpp"

namespace tracer::internal {

/// Gives a sink its thread and its queue. The thread shares ownership: a write that never returns can't be waited for,
/// and is then left behind with all that it uses.
class SinkRunner : public std::enable_shared_from_this<SinkRunner> {
 public:
  static constexpr std::chrono::seconds kMostWait{2};  ///< At the end.

  /// Throws Error: kInvalidArgument, kNoMemory (no descriptor, no thread).
  /// `owner_of`: as of QueueState.
  static std::shared_ptr<SinkRunner> start(std::unique_ptr<Sink> sink, QueueOptions options,
                                           QueueState::OwnerOf owner_of = {});
  SinkRunner(std::unique_ptr<Sink> sink, QueueOptions options, QueueState::OwnerOf owner_of);
  ~SinkRunner();
  SinkRunner(const SinkRunner&) = delete;
  SinkRunner& operator=(const SinkRunner&) = delete;

  const std::shared_ptr<QueueState>& queue() const noexcept { return queue_; }
  /// Waits until all of the ended queue is written, at most until then; then leaves the thread behind.
  void finish(std::chrono::steady_clock::time_point until) noexcept;
  /// Nothing more comes to it; as finish(), and where it has finished, the sink is destroyed. Throws
  /// Error(kInCallback) on its own thread.
  void close(std::chrono::steady_clock::time_point until);
  /// By close(): the session may forget it.
  bool closed() const noexcept { return closed_.load(); }
  /// Throws Error(kInCallback) on its own thread, and what `go_on` throws.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on);
  std::optional<Problem> problem() const;
  /// CPU time of its thread.
  std::uint64_t cpu_ns() const noexcept { return cpu_ns_.value(); }

 private:
  class Wanted;
  void run() noexcept;
  void refuse_on_own_thread(const char* what) const;
  void write_until_the_end() noexcept;
  bool is_wanted(std::uint64_t position);

  std::unique_ptr<Sink> sink_;           ///< Null: closed.
  std::optional<Problem> last_problem_;  ///< Of a closed one.
  std::atomic<bool> closed_{false};
  std::mutex closing_;
  std::shared_ptr<QueueState> queue_;
  Counter cpu_ns_;
  std::atomic<bool> left_behind_{false};
  std::atomic<bool> out_of_memory_{false};

  Reached flushed_;  ///< By what has left the queue, and one for the beginning.
  std::atomic<std::thread::id> own_thread_{};
  mutable std::mutex mutex_;
  std::multiset<std::uint64_t> wanted_;  ///< What those who flush wait for.
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace tracer::internal
