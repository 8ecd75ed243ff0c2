// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "source/feed.hpp"
#include "source/raw_counters.hpp"

namespace tracer::internal {

/// Follows processes under the session's own numbers of contexts.
class Tracker {
 public:
  /// Takes in a living tree, or gives a new context to one that is followed already: the records of what it changed are
  /// yielded, each ThreadRecord with the new context id. Before start() it is kept for that. By the reader. Throws
  /// Error: kFilterNamesNothing and kPermission before anything has the context, kInvalidArgument.
  virtual void track(pid_t pid, std::uint32_t context_id, Feed& feed) = 0;

  // From any thread.
  /// What a thread forks from now on has this context, whatever the filter takes in. Returns the serial of the label.
  /// Throws Error(kInvalidArgument).
  virtual std::uint64_t open_label(pid_t tid, std::uint32_t context_id) = 0;
  /// The label is over; its thread has the outer one again, unless it has another by now. False: it was over already.
  virtual bool close_label(std::uint64_t serial) noexcept = 0;
  /// The thread has the label, if that is not over.
  virtual void resume_label(pid_t tid, std::uint64_t serial) noexcept = 0;
  /// The thread has none until it has another, nor that of the thread that made it.
  virtual void disown_thread(pid_t tid) noexcept = 0;

  // By the reader.
  /// Those of these contexts that nothing living has.
  virtual std::vector<std::uint32_t> unused_contexts(std::vector<std::uint32_t> ids) const = 0;
  /// Nothing has the context any more, and its id may soon mean another: its sums are kept with those of all that were
  /// forgotten.
  virtual void forget_context(std::uint32_t id) = 0;

  /// From any thread, read on the calling one.
  virtual std::vector<RawTotals> totals() const = 0;

 protected:
  ~Tracker() = default;
};

}  // namespace tracer::internal
