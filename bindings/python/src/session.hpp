// SPDX-License-Identifier: Apache-2.0
/// The session of a Python object: closed once, never touched in a child made by fork.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tracer/report.hpp>
#include <tracer/session.hpp>

#include "of_process.hpp"

namespace tracer::python {

/// Of what the caller keeps. Close-on-exec. Throws Error(kNoMemory).
int copy_of(int file_descriptor);

/// Thread-safe. No method needs the GIL, and none may be called with it, as the session's own thread may wait for it;
/// but those that are noted.
class HeldSession {
 public:
  explicit HeldSession(SessionOptions options);
  HeldSession(Source source, SessionOptions options);
  /// Closes it, unless this is another process than that which made it. With or without the GIL.
  ~HeldSession();
  HeldSession(const HeldSession&) = delete;
  HeldSession& operator=(const HeldSession&) = delete;

  /// The running session, which lives as long as what is returned. Throws SessionGone: it is closed, or was made before
  /// a fork. Quick: with or without the GIL.
  std::shared_ptr<Session> session() const;
  /// Neither closed nor another process's. Quick: with or without the GIL.
  bool open() const noexcept;
  bool forked() const noexcept { return held_.is_foreign(); }

  /// Has it write a recording to a descriptor, which stays the caller's. Before start().
  void record(int file_descriptor, std::string name);
  void start();
  /// Ends it: all is delivered and written then. False: it still ends when `timeout` has passed, which is negative to
  /// wait for as long as it takes. Idempotent; nothing happens in a child. Throws Error(kInCallback).
  bool close(std::chrono::milliseconds timeout);
  /// This thread runs one of its callbacks.
  bool in_callback() const noexcept;
  /// Waits until what has happened is in the recording. False: `timeout` passed, or it can't be written.
  bool flush(std::chrono::milliseconds timeout);
  /// What stopped the recording. Events that it lacks as the disk was too slow. Any time, in a child too: absent there.
  std::optional<Problem> recording_problem() const;
  std::uint64_t recording_dropped() const;
  /// A file in memory that has all events, where the recording could not be written to its end; -1: there is none. It
  /// stays this object's.
  int rescued() const noexcept { return rescue_->file.load(); }

  /// Of now, or of the end. Throws SessionGone in a child.
  SessionFigures figures() const;
  const HostInfo& host() const noexcept { return host_; }
  const std::vector<Problem>& rule_problems() const noexcept { return rule_problems_; }
  Tier tier() const noexcept { return tier_; }
  const std::vector<Problem>& tier_problems() const noexcept { return tier_problems_; }
  /// A replay waits for its readers; what happens now does not.
  WhenFull when_full() const noexcept { return tier_ == Tier::kRecording ? WhenFull::kWait : WhenFull::kDropOldest; }

 private:
  struct Held {
    std::mutex mutex;
    std::shared_ptr<Session> session;  ///< Null: closed.
    std::optional<SinkHandle> recording;
    SessionFigures at_end;
    std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  };
  explicit HeldSession(std::shared_ptr<Session> session);
  Held& held() const { return *held_.get(); }
  static SessionFigures figures_of(const Session& session, const Held& held);

  /// Shared with the sink, which may outlive this.
  struct Rescue {
    std::atomic<int> file{-1};
    ~Rescue();
  };

  std::shared_ptr<Rescue> rescue_ = std::make_shared<Rescue>();
  OfProcess<std::unique_ptr<Held>> held_;
  HostInfo host_;
  std::vector<Problem> rule_problems_;
  Tier tier_;
  std::vector<Problem> tier_problems_;
  std::atomic<bool> has_started_{false};
};

}  // namespace tracer::python
