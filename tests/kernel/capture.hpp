// SPDX-License-Identifier: Apache-2.0
/// Runs a truth program under a session and keeps all that was seen.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracer/session.hpp>

struct Capture {
  std::vector<tracer::Event> events;
  std::vector<tracer::ContextTotals> totals;
  tracer::Statistics statistics;
  pid_t pid = -1;
  int status = 0;      ///< As wait4 gave it.
  rusage usage{};      ///< Likewise.
  std::string output;  ///< What the program wrote.

  template <class E>
  std::vector<E> all() const {
    std::vector<E> found;
    for (const tracer::Event& event : events)
      if (const E* each = event.get_if<E>()) found.push_back(*each);
    return found;
  }
  /// The exit of the program itself; fails the test when there is not exactly one.
  tracer::ProcessExit exit() const;
  /// The exits of its descendants.
  std::vector<tracer::ProcessExit> other_exits() const;
  std::uint64_t reported() const { return std::stoull(output); }
};

/// Announces these, forks, takes the child in with this context, lets it execute `words` as this executable, waits for
/// it, and stops.
Capture trace(const std::vector<std::string>& words, tracer::SessionOptions options = {}, tracer::Context context = {},
              const std::vector<tracer::Announcement>& announcements = {});
/// One session for all calls, one after the other. Each capture has the events of all.
std::vector<Capture> trace_each(const std::vector<std::vector<std::string>>& calls);

std::uint64_t ns_of(const timeval& time);
/// CPU time of the child as the kernel told its parent.
std::uint64_t cpu_ns_of(const rusage& usage);
bool kernel_at_least(int major, int minor);
