// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/report.hpp>
#include <tracer/run.hpp>

#include "of_process.hpp"
#include "process_tree.hpp"
#include "recording.hpp"
#include "session.hpp"

namespace tracer::python {

/// A command in a session, and what it consumed: the accounts of `tracerd run`. No method needs the GIL; for one thread
/// at a time, but those that are noted.
class CommandRun {
 public:
  /// Forks; it waits for release(). `streams`: descriptors to be its input, output and errors; -1: the caller's.
  /// `session`: follows the caller already; the command is watched in it, and executes at once if it can. Null:
  /// watch().
  CommandRun(CommandOptions options, std::optional<std::string> folder, std::array<int, 3> streams,
             const HeldSession* session);
  /// Kills it if it still runs.
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  pid_t pid() const { return command_.get()->pid(); }
  /// Of the boot clock: before it was forked.
  std::uint64_t since_ns() const noexcept { return since_ns_; }

  /// Before release(). `whole`: the session follows nothing else.
  void watch(const HeldSession& session, bool whole);
  /// Lets it execute. Throws Error if it can't.
  void release();
  /// It was released, and its end was not seen yet.
  bool running() const noexcept { return released_ && !end_; }
  /// False: it has not ended within `timeout`. Throws Error(kInternal) where its status is lost.
  bool wait(std::chrono::milliseconds timeout);
  /// As wait() of the system gives it; absent: it has not ended.
  std::optional<int> status() const noexcept { return end_ ? end_->wait_status : std::nullopt; }
  void signal(int number) const { command_.get()->signal(number); }
  /// Waits until its accounts are final, or its end must have been lost: its parent hears of it a moment before. False:
  /// neither within `timeout`.
  bool settle(std::chrono::milliseconds timeout);
  /// Its accounts are final.
  bool settled() const;
  /// Nothing more counts.
  void unwatch();

  /// With the figures of a session that has followed nothing else and was closed; null: of events alone. And the peak
  /// of its largest process.
  std::pair<Report, std::optional<Figure>> report(const HeldSession* session) const;

 private:
  /// What the session's thread tells.
  struct Watch {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    std::optional<ProcessTree> tree;  ///< Absent: its pid is not known yet.
    std::vector<Event> early;         ///< What came meanwhile.
    Summary summary;

    void add(const Event& event);
  };
  void subscribe(const HeldSession& session);
  void follow(bool whole);
  void end() noexcept;
  bool look();

  std::uint64_t since_ns_;
  OfProcess<std::unique_ptr<Command>> command_;
  std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  std::weak_ptr<Session> session_;
  OfProcess<Subscription> subscription_;
  std::optional<CommandEnd> end_;
  std::optional<std::chrono::steady_clock::time_point> delivered_;  ///< All that had happened then, after its end.
  int pidfd_ = -1;
  bool at_once_ = false;
  bool released_ = false;
};

}  // namespace tracer::python
