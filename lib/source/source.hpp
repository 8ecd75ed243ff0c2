// SPDX-License-Identifier: Apache-2.0
/// Where a session's records and events come from.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/context.hpp>
#include <tracer/event.hpp>
#include <tracer/families.hpp>
#include <tracer/host.hpp>
#include <tracer/statistics.hpp>
#include <tracer/tier.hpp>

#include "base/caller.hpp"
#include "source/feed.hpp"
#include "source/scope_counts.hpp"
#include "source/track_as.hpp"

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

/// What a source with a live kernel behind it can be asked to do. Called by the reader, unless it says otherwise.
class Control {
 public:
  /// Takes in a living tree, or gives a new context to one that is followed already: the records of what it changed are
  /// yielded, each ThreadRecord with the new context id. Before start() it is kept for that. Throws Error:
  /// kFilterNamesNothing and kPermission before anything has the context, kInvalidArgument.
  virtual void track(pid_t pid, std::uint32_t context_id, Feed& feed) = 0;
  /// Yields a record for each thread of each living process that is tracked, for large files that they have open, and,
  /// if asked for, for their cgroups; each between the records of events in the order of time. Then snapshot_end.
  /// Throws Error, without a snapshot_end, when what lives can't be walked through; counted as a loss.
  virtual void snapshot(Feed& feed, bool with_cgroups) = 0;
  /// To be called every few milliseconds by what takes longer: makes room for what happens meanwhile.
  virtual void keep_up() {}
  /// Null: it does not count what scopes do as a whole.
  virtual ScopeCounts* scope_counts() noexcept { return nullptr; }
  /// Disables a family for good.
  virtual void shed(Family family, const Problem& problem) = 0;
  /// The path of a cgroup that exists, within its hierarchy. May walk all cgroups.
  virtual std::optional<std::string> cgroup_path(Hierarchy hierarchy, std::uint64_t id) const = 0;

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

  /// Those of these contexts that nothing living has.
  virtual std::vector<std::uint32_t> unused_contexts(std::vector<std::uint32_t> ids) const = 0;
  /// Nothing has the context any more, and its id may soon mean another: its sums are kept with those of all that were
  /// forgotten.
  virtual void forget_context(std::uint32_t id) = 0;

  // Where the kernel side outlives this process: records stay in the rings until they are released.
  struct Held {
    std::uint32_t context_id = 0;
    std::uint64_t program_start_ns = 0;
  };
  /// What the kernel side knows of a process that it follows; absent: it does not.
  virtual std::optional<Held> held_by_kernel(std::uint32_t, std::uint64_t) const { return std::nullopt; }
  /// How far each ring was read and yielded.
  virtual std::vector<std::uint64_t> given() const { return {}; }
  /// What lies before that is kept elsewhere, or given up. From any thread, as the next.
  virtual void release(std::span<const std::uint64_t>) noexcept {}
  /// How much of a ring is taken by what was yielded and not released, 0 to 1.
  virtual double unreleased_share() const noexcept { return 0; }

  // From any thread, read on the calling one.
  virtual std::vector<RawTotals> totals() const = 0;
  virtual std::vector<FamilyState> families() const = 0;
  /// Time of its programs in the kernel, by family; empty when it is not known.
  virtual std::map<Family, std::uint64_t> kernel_ns() const = 0;
  virtual std::optional<std::uint64_t> kernel_memory_bytes() const = 0;

 protected:
  ~Control() = default;
};

/// What a session's callers ask of it, for sources whose contexts are kept elsewhere, such as in a service. From any
/// thread.
class Desk {
 public:
  virtual ~Desk() = default;
  /// These throw Error, as the methods of Session do.
  virtual void track(pid_t pid, const Context& context, TrackAs as) = 0;
  virtual void announce(const Announcement& announcement, const Caller& caller) = 0;
  /// For the caller's thread. Returns the serial of the label.
  virtual std::uint64_t open_label(const Context& context, const Caller& caller) = 0;
  virtual void close_label(std::uint64_t serial) noexcept = 0;
  virtual void resume_label(std::uint64_t serial, const Caller& caller) noexcept = 0;
  virtual void disown_thread(const Caller& caller) noexcept = 0;
  virtual void report_own_work(const Context& task, const OwnWork& work) = 0;
  /// The living processes that the caller may see, with their accounts so far. Throws Error.
  virtual std::vector<ProcessSample> living() const = 0;
  virtual std::vector<FamilyState> families() const = 0;
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
  /// It yields only what the filter's rules for pids, cgroups and users take in.
  virtual bool filters() const noexcept { return false; }
  /// Null: it can't be asked for anything.
  virtual Control* control() noexcept { return nullptr; }
  /// Not null: the session's callers are answered here, and by no Control.
  virtual Desk* desk() noexcept { return nullptr; }
  /// From any thread.
  virtual Counters counters() const = 0;
};

}  // namespace tracer::internal
