// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/filter.hpp>
#include <tracer/host.hpp>
#include <tracer/signals.hpp>
#include <tracer/sink.hpp>
#include <tracer/statistics.hpp>
#include <tracer/subscription.hpp>

namespace tracer {

class Source;

enum class Reader {
  kOwnThread,  ///< The session reads and calls back on a thread of its own.
  kPoll,       ///< The caller does, with fd() and poll().
};

struct SessionOptions {
  Filter filter = {};  ///< Default: every process of the host (not root: of your own uid).
  Reader reader = Reader::kOwnThread;
  std::size_t ring_bytes = 1u << 20;  ///< Between kernel and reader. A power of two times the page size.
  std::size_t max_processes = 32768;  ///< Tracked at one time; more are counted as lost. About 0.8 KiB each.
  std::size_t max_contexts = 256;     ///< Different labels in one session; about 0.2 KiB each and CPU.
  std::vector<Family> families = {Family::kWaits, Family::kSnapshots};  ///< Besides the lifecycle.
  std::chrono::milliseconds sample_interval{1000};                      ///< Family::kSnapshots: at least 100 ms.
  /// Of one CPU. A session that costs more for three seconds sheds its dearest family; signals() then says so. So that
  /// its kernel side counts, too, the kernel's statistics of BPF programs are on while the session lives
  /// (BPF_ENABLE_STATS, about 50 ns for each run of a program of anybody); without CAP_SYS_ADMIN only the reader
  /// counts. Absent: never.
  std::optional<double> max_cost_share = {};
  bool mask_secrets = true;                 ///< In arguments, by rules/secrets.toml.
  std::filesystem::path tool_rules = {};    ///< Instead of the built-in rules/tools.toml; empty: built-in.
  std::filesystem::path secret_rules = {};  ///< Likewise, rules/secrets.toml.
  std::function<void(std::exception_ptr)> on_error = {};  ///< What a callback threw; on the dispatching thread.
};

/// A running capture. Thread-safe: any method may be called from any thread, except where it says otherwise.
/// Destroying a Session stops it and waits until no callback is running; it must not be destroyed inside a callback.
class TRACER_EXPORT Session {
 public:
  /// Loads and checks everything; delivers nothing before start().
  /// Throws Error with all that is missing: kPermission (CAP_BPF, CAP_PERFMON), kNoBtf, kKernelTooOld, kProgramRefused,
  /// kFilterNamesNothing, kInvalidArgument, kInvalidRules, kFileUnreadable, kNoMemory.
  explicit Session(SessionOptions options);
  /// With another source than the kernel: a recording, or a testing::FakeSource. Throws Error(kInvalidArgument) when it
  /// was moved from.
  Session(Source source, SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Calls `callback` for each event of type E from now on, on the dispatching thread. The event is borrowed: valid
  /// during the call; copy it to keep it. Must not block for long: the ring fills meanwhile. What it throws is counted
  /// and goes to SessionOptions::on_error.
  template <class E>
  [[nodiscard]] Subscription on(std::function<void(const E&)> callback) {
    return subscribe([callback = std::move(callback)](const Event& event) {
      if (const E* typed = std::get_if<E>(&event)) callback(*typed);
    });
  }
  [[nodiscard]] Subscription on_any(std::function<void(const Event&)> callback) {
    return subscribe(std::move(callback));
  }
  /// Before start(). The session owns it; the reference stays valid as long as the session.
  Sink& add_sink(std::unique_ptr<Sink> sink);

  /// Begins to deliver. Living processes that the filter takes in come first, as ProcessStart with attached_ns.
  void start();
  /// Delivers what is there, a ProcessSample of each process that still lives, and SessionEnd; then nothing more.
  /// Idempotent. Not inside a callback.
  void stop();
  /// Takes in a living process and its descendants from now on. Throws Error(kFilterNamesNothing) if it is not there.
  void track(pid_t pid, Context context = {});

  /// Reader::kPoll: readable when poll() has something to do. Owned by the session.
  int fd() const noexcept;
  /// Reader::kPoll: dispatches what is there, after waiting for it at most `timeout`. Returns the number of events.
  /// Not inside a callback. A recording is at its end when finished() is true.
  std::size_t poll(std::chrono::milliseconds timeout);
  /// True when the source has no more to give (recordings), or after stop().
  bool finished() const noexcept;

  /// The tracked processes that live now, with their totals so far. Empty for sources other than the kernel.
  std::vector<ProcessSample> living();
  Statistics statistics() const;
  /// Sums by context, from the kernel. Empty for other sources.
  std::vector<ContextTotals> totals() const;
  /// What each rule of the filter does, and whether the kernel or user space decides it: one line each.
  std::vector<std::string> explain() const;
  /// The families that were asked for, and how they are there. Empty for sources other than the kernel.
  std::vector<SignalState> signals() const;
  const HostInfo& host() const noexcept;

 private:
  Subscription subscribe(std::function<void(const Event&)> callback);
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
