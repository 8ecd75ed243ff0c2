// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tracer/session.hpp>
#include <tracer/summary.hpp>

#include "command_line.hpp"
#include "live_line.hpp"
#include "signals.hpp"
#include "user.hpp"

namespace tracerd {

/// Files that events go to, opened before anything runs.
struct Outputs {
  std::optional<int> record_fd;
  std::optional<int> json_fd;
};
/// Throws tracer::Error(kFileUnwritable). With the rights of `user`, if there is one.
Outputs open_outputs(const Options& options, const std::optional<User>& user);

/// A session with its sinks and its summary, driven by the caller's loop.
class Capture {
 public:
  /// Takes over the outputs' descriptors.
  Capture(tracer::Filter filter, const Options& options, Outputs outputs);

  void start() { session_.start(); }
  int fd() const noexcept { return session_.fd(); }
  /// Handles what is there; says on standard error when a sink has failed.
  void poll(std::chrono::milliseconds timeout);
  /// As ^Z asks for: stops with the terminal as it was.
  void suspend(const Signals& signals);
  /// Ends the session and prints the table. `title` is what was traced.
  void finish(const std::string& title);
  /// By the kernel's count: dearer to ask for are those that live themselves.
  bool follows_any() const;
  std::uint64_t exits() const noexcept { return summary_.exits(); }
  bool saw_exit_of(pid_t pid) const { return exited_.contains(static_cast<std::uint32_t>(pid)); }
  /// The arguments of the first program that the process of watch_exit_of() executed; empty: none yet.
  const std::vector<std::string>& argv_of_watched() const { return argv_; }
  void watch_exit_of(pid_t pid) { awaited_.insert(static_cast<std::uint32_t>(pid)); }

 private:
  void tell_problems();

  tracer::Session session_;
  tracer::Summary summary_;
  LiveLine live_;
  std::set<std::uint32_t> awaited_;
  std::set<std::uint32_t> exited_;
  bool began_ = false;
  std::vector<std::string> argv_;
  std::vector<tracer::Sink*> sinks_;
  std::set<tracer::Sink*> told_;
  tracer::Subscription subscription_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace tracerd
