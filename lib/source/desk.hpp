// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/context.hpp>
#include <tracer/event.hpp>
#include <tracer/state.hpp>

#include "base/caller.hpp"
#include "source/track_as.hpp"

namespace tracer::internal {

/// What a session's callers ask of it, for sources whose contexts are kept elsewhere, such as in a service. From any
/// thread.
class Desk {
 public:
  virtual ~Desk() = default;
  /// These throw Error, as the methods of Session do.
  virtual void track(pid_t pid, const Context& context, TrackAs as) = 0;
  virtual void announce(const Announcement& announcement, const Caller& caller) = 0;
  virtual Key submit(const Submission& submission) = 0;
  virtual void withdraw(const Withdrawal& withdrawal) = 0;
  /// For the caller's thread. Returns the serial of the label.
  virtual std::uint64_t open_label(const Context& context, const Caller& caller) = 0;
  virtual void close_label(std::uint64_t serial) noexcept = 0;
  virtual void resume_label(std::uint64_t serial, const Caller& caller) noexcept = 0;
  virtual void disown_thread(const Caller& caller) noexcept = 0;
  virtual void report_own_work(const Context& task, const OwnWork& work) = 0;
  /// The living processes that the caller may see, with their accounts so far. Throws Error.
  virtual std::vector<ProcessSample> living() const = 0;
  /// Of all that the caller may see: as Session::state(). Throws Error.
  virtual std::string state(const StateQuery& query) const = 0;
};

}  // namespace tracer::internal
