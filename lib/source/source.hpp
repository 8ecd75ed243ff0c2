// SPDX-License-Identifier: Apache-2.0
/// Where a session's records and events come from.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tracer/families.hpp>
#include <tracer/host.hpp>
#include <tracer/statistics.hpp>
#include <tracer/tier.hpp>

#include "source/desk.hpp"
#include "source/feed.hpp"
#include "source/host_questions.hpp"
#include "source/kernel_side.hpp"
#include "source/snapshots.hpp"
#include "source/tracker.hpp"

namespace tracer::internal {

/// How much one call of drain() may yield.
struct DrainLimit {
  std::size_t records = 8192;
  std::chrono::nanoseconds time = std::chrono::milliseconds(20);
};

/// Cumulative. Who reads them compares with the last time.
struct Counters {
  std::uint64_t records = 0;  ///< Received in the kernel's own form; not what is read in /proc.
  std::uint64_t record_bytes = 0;
  std::map<std::string, std::uint64_t> losses;  ///< By cause, as in docs/losses.md; only those that occurred.
  std::optional<std::uint64_t> missed_at_most;  ///< As in SessionEnd.
};

/// A stream of records or events. Used by the reader, unless it says otherwise.
class Source {
 public:
  virtual ~Source() = default;

  virtual Tier tier() const noexcept { return Tier::kRecording; }
  virtual HostInfo host() const = 0;
  /// Readable when drain() has something to do; never -1.
  virtual int fd() const noexcept = 0;
  /// Drain at least this often, too; 0: only when fd() is readable.
  virtual std::chrono::milliseconds poll_period() const noexcept { return std::chrono::milliseconds(0); }
  /// Begins; living processes that the filter takes in are yielded from here.
  virtual void start(Feed& feed) = 0;
  /// Yields what is there, without waiting for more than a moment. True: more may be there, as the limit stopped it, or
  /// as much came meanwhile.
  virtual bool drain(Feed& feed, const DrainLimit& limit) = 0;
  /// Waits, so long at most, until what has happened by now was noticed. From any thread.
  virtual void settle(std::chrono::milliseconds) {}
  /// Where what was noticed by now ends, as position() counts. From any thread.
  virtual std::uint64_t end_position() const noexcept = 0;
  /// How much was yielded.
  virtual std::uint64_t position() const noexcept = 0;
  /// Detaches; what happened before is still yielded by drain(). May wait for up to 100 ms.
  virtual void stop() = 0;
  /// After stop(): what drain() would still yield is given up, and counted as a loss. False: it costs too little for
  /// that.
  virtual bool leave_unread() { return false; }
  /// No more will come. From any thread.
  virtual bool finished() const noexcept = 0;
  /// True: what it yields has a SessionEnd and losses of its own, to which a session adds none.
  virtual bool ends_itself() const noexcept { return false; }
  /// True: its losses are among the events that it yields, where they occurred.
  virtual bool says_losses() const noexcept { return ends_itself(); }
  /// What it yields has no findings of its own, and they can be made of it.
  virtual bool wants_findings() const noexcept { return false; }
  /// Those that it has are not to be yielded. Before start().
  virtual void leave_findings() noexcept {}
  /// It yields only a part of what its desk answers for.
  virtual bool is_filtered() const noexcept { return false; }
  /// It yields only what the filter's rules for pids, cgroups and users take in.
  virtual bool filters() const noexcept { return false; }

  // What else it can be asked. Each is the same for as long as it lives.
  /// Null: it follows nothing by itself. So are the next two then.
  virtual Tracker* tracker() noexcept { return nullptr; }
  virtual Snapshots* snapshots() noexcept { return nullptr; }
  /// Null: nobody can say more of the host than what it yields.
  virtual HostQuestions* questions() noexcept { return nullptr; }
  /// Null: no part of it is in the kernel.
  virtual KernelSide* kernel_side() noexcept { return nullptr; }
  /// Not null: the session's callers are answered here, and by no Tracker.
  virtual Desk* desk() noexcept { return nullptr; }

  /// Disables a family for good, where it can.
  virtual void shed(Family, const Problem&) {}

  // From any thread, read on the calling one.
  /// Empty: it has none by itself.
  virtual std::vector<FamilyState> families() const { return {}; }
  virtual Counters counters() const = 0;
};

}  // namespace tracer::internal
