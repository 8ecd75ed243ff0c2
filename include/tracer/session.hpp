// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

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

#include <tracer/announcement.hpp>
#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/filter.hpp>
#include <tracer/host.hpp>
#include <tracer/queue.hpp>
#include <tracer/families.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>
#include <tracer/scale.hpp>
#include <tracer/statistics.hpp>
#include <tracer/subscription.hpp>
#include <tracer/thread_label.hpp>

namespace tracer {

enum class Reader {
  kOwnThread,  ///< The session reads and calls back on a thread of its own.
  kPoll,       ///< The caller does, with fd() and poll().
};

struct SessionOptions {
  Filter filter = {};  ///< Default: every process that this pid namespace shows (without root: only your own).
  Reader reader = Reader::kOwnThread;
  /// Between kernel and reader. A power of two, from a page to 2 GiB. This and the next three have defaults by the
  /// machine: scale_of_this_machine().
  std::size_t ring_bytes = scale_of_this_machine().ring_bytes;
  /// Tracked at one time, at most 2^26; more are counted as lost.
  std::size_t max_processes = scale_of_this_machine().max_processes;
  /// Whose waits are followed at one time, at most 2^26; of a process with more, the ledgers are absent, and counted.
  std::size_t max_threads = scale_of_this_machine().max_threads;
  /// Below the cgroups of the filter, at most 2^26; processes of more are not taken in, and counted.
  std::size_t max_cgroups = scale_of_this_machine().max_cgroups;
  /// Different labels at one time: those that are open, and those of living processes. About 0.2 KiB each, for the
  /// first 256 of them for each CPU. At most 2^26.
  std::size_t max_contexts = 16384;
  std::size_t max_labeled_threads = 4096;    ///< At one time; see label_thread(). About 0.2 KiB each. At most 2^26.
  std::size_t max_announcements = 1u << 17;  ///< At one time; about 0.5 KiB each.
  std::vector<Family> families = default_families();  ///< Besides the lifecycle; docs/families.md lists them.
  /// Family::kSnapshots: the longest time between two snapshots, at least 100 ms. While something is young or memory
  /// grows, there are up to five in it.
  std::chrono::milliseconds sample_interval{1000};
  /// Of one CPU, at least 0. A session that costs more for three seconds disables its most expensive family; families()
  /// then says so. To count its kernel side as well, the kernel's statistics of BPF programs are on while the session
  /// lives (BPF_ENABLE_STATS, about 50 ns for each run of a program of anybody); without CAP_SYS_ADMIN only the reader
  /// counts. Absent: never.
  std::optional<double> max_cost_share = {};
  bool mask_secrets = true;                 ///< In arguments, by rules/secrets.toml.
  std::filesystem::path tool_rules = {};    ///< Instead of the built-in rules/tools.toml; empty: built-in.
  std::filesystem::path secret_rules = {};  ///< Likewise, rules/secrets.toml.
  std::filesystem::path engine_rules = {};  ///< In front of the built-in rules/engines.toml; empty: built-in only.
  /// Rules for engines may read names from files that an engine has written for others, such as the first lines of
  /// Nextflow's .command.run. False: none is read.
  bool read_engine_notes = true;
  /// A process that the filter takes in, such as a Command's: what it executes is a run, with the tool's name as
  /// inferred `run`, unless labels or the rules of an engine say of which run it is. 0: none.
  pid_t command_pid = 0;
  std::function<void(std::exception_ptr)> on_error = {};  ///< What a callback threw; on the dispatching thread.
};

struct SubscribeOptions {
  bool living_first = false;  ///< As QueueOptions::living_first; called on the dispatching thread.
};

/// A running capture. Thread-safe: any method may be called from any thread, callbacks included, except where it says
/// otherwise; none waits for a callback or a slow subscriber, except where it says so.
/// Destroying a Session stops it, as stop() does; inside a callback the end comes when the callback has returned, and
/// nobody waits for its sinks. In a forked child it is the parent's: it may be destroyed there, which does nothing, and
/// nothing else may be done with it.
class TRACER_EXPORT Session {
 public:
  /// Loads and checks everything; delivers nothing before start().
  /// Throws Error with all that is missing: kPermission (CAP_BPF, CAP_PERFMON), kNoBtf, kKernelTooOld, kPidNamespace,
  /// kProgramRefused, kFilterNamesNothing, kInvalidArgument, kInvalidRules, kFileUnreadable, kNoMemory.
  explicit Session(SessionOptions options = {});
  /// With another source than the kernel: a recording, or a FakeSource in tests.
  Session(Source source, SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Calls `callback` for each event of type E from now on: on the session's thread, or in poll(). The event is
  /// borrowed: valid during the call. For quick work only: the kernel's ring fills meanwhile; what takes longer belongs
  /// in a queue(). What it throws is counted and goes to SessionOptions::on_error.
  template <EventType E>
  [[nodiscard]] Subscription on(std::function<void(const E&)> callback, SubscribeOptions options = {}) {
    return subscribe(
        E::kKind, [callback = std::move(callback)](const Event& event) { callback(*event.get_if<E>()); }, options);
  }
  /// Likewise for events of all kinds; a copy of the handle keeps the event.
  [[nodiscard]] Subscription on_any(std::function<void(const Event&)> callback, SubscribeOptions options = {}) {
    return subscribe(std::nullopt, std::move(callback), options);
  }
  /// Likewise for events of one kind that is known at run time only; without a kind: of all. Throws
  /// Error(kInvalidArgument): there is no such kind.
  [[nodiscard]] Subscription subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback,
                                       SubscribeOptions options = {});
  /// Events from now on, for a reader that takes them when it likes. Throws Error: kInvalidArgument (no capacity),
  /// kNoMemory.
  [[nodiscard]] Queue queue(QueueOptions options = {});
  /// Has `sink` write events from now on, on a thread of its own. Throws Error: kInvalidArgument, kNoMemory.
  SinkHandle add_sink(std::unique_ptr<Sink> sink, QueueOptions options = {});

  /// Begins to deliver. Living processes that the filter takes in come first, as ProcessStart with attached_ns. Moves
  /// the calling thread over all CPUs for a moment. Nothing happens when it was started or stopped before.
  void start();
  /// Delivers all pending events, a ProcessSample of each process that still lives, and SessionEnd; then nothing more.
  /// Waits for a running callback, and up to two seconds for sinks. Idempotent. Don't hold a lock that a callback
  /// takes. Throws Error(kInCallback) inside a callback.
  void stop();
  /// Asks for the end and does not wait: it comes on the session's thread, or with the next poll(). Before start() it
  /// comes with that, and nothing is delivered.
  void request_stop() noexcept;
  /// Takes in a living process and its descendants from now on, or from start() on; those that are followed already get
  /// the new labels. Nothing happens for sources other than the kernel, and after the end.
  /// Throws Error: kFilterNamesNothing if it is not there, kInvalidArgument beyond max_contexts.
  void track(pid_t pid, const Context& context = {});

  /// What the calling thread forks from now on has these labels, until what is returned ends; so have the threads that
  /// it makes, for what they fork, and all that comes of them. Decided in the kernel at the fork, so that many threads
  /// can run different tasks at once. Such processes are followed whatever the filter takes in, but for those that it
  /// excludes. Within another label's scope this one counts; an empty context stands for the labels of the calling
  /// process. Two scopes with equal contexts are one task: give a task_id to tell them apart. Costs a few system calls.
  /// Before start() it is set, and holds for what is forked from then on. Nothing happens for sources other than the
  /// kernel, and after the end.
  /// Throws Error(kInvalidArgument) beyond max_contexts or max_labeled_threads.
  [[nodiscard]] ThreadLabel label_thread(const Context& context);
  /// What the calling thread forks from now on has no label of a thread, though an outer scope or the thread that made
  /// it has one, until a label is set or resumed: only the filter takes it in, with the labels of the calling process.
  /// Before start() likewise. Nothing happens for sources other than the kernel, and after the end. Costs what
  /// ThreadLabel::resume() does.
  void unlabel_thread() noexcept;

  /// Reports what this process itself consumed between two moments, in the task with these labels, or in none: an
  /// OwnWork event. Only the caller knows which part of its threads' time was a task's; parts must not overlap. Before
  /// the label of the task ends, so that its TaskFinish has it. Nothing happens where the session does not follow this
  /// process, for sources other than the kernel, and after the end. Any thread.
  void report_own_work(const Context& task, const OwnWork& work);

  /// Says which run or task processes are in, before they begin or while they live: what is known of those already is
  /// said again, by ContextChange. Waits for nobody, but without root for the file system that is asked whose folder it
  /// is; what it costs does not depend on how much lives. One with the same key adds to the earlier one, and wins over
  /// it. What no process meets expires, and is counted, as is what is announced beyond max_announcements. Nothing
  /// happens with recordings, and after the end. Throws Error: kInvalidArgument (a key that matches everything, nothing
  /// said, more than 64 KiB or 64 labels), kFilterNamesNothing (the process is gone), kPermission (without root:
  /// another user's folder or process).
  void announce(const Announcement& announcement);

  /// Readable when poll() has something to do, which includes what is due by time: no timeout is needed. Owned by the
  /// session; -1 never occurs.
  int fd() const noexcept;
  /// Reader::kPoll: delivers what is there, after waiting for it at most `timeout`; a negative one waits without a
  /// limit. Returns the number of events. Throws Error: kInCallback; kContradiction with Reader::kOwnThread.
  std::size_t poll(std::chrono::milliseconds timeout);
  /// Waits until all that happened before the call was delivered: to callbacks, which have returned, to queues, and to
  /// the queues of sinks. A process that was waited for has had its ProcessExit then. A recording was read to where it
  /// ends now. With Reader::kPoll it drives the session itself, as poll() does. Before start() and after the end there
  /// is nothing to wait for. False: `timeout` passed, or `go_on` said so; a negative timeout waits without a limit.
  /// `go_on` is asked on the calling thread, with no lock held, at least every 50 ms but for the time of callbacks that
  /// this thread runs; what it throws comes out. Ask in it for signals: repeated short calls may never catch up
  /// with new events. Throws Error(kInCallback) inside a callback.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on = {});
  /// The calling thread runs a callback of this session, where stop(), poll() and flush() throw.
  bool in_callback() const noexcept;
  /// All was delivered: after stop(), or when the source has ended (recordings).
  bool finished() const noexcept;

  /// The tracked processes that live now, with their totals so far. Empty for sources other than the kernel. Waits for
  /// its turn at the source: 20 ms, or a snapshot. Throws Error when the kernel refuses to walk through what lives, as
  /// without descriptors (kProgramRefused) or memory (kNoMemory).
  std::vector<ProcessSample> living();
  Statistics statistics() const;
  /// Sums by context, from the kernel. Empty for other sources.
  std::vector<ContextTotals> totals() const;
  /// What each rule of the filter does, and whether the kernel or user space decides it: one line each.
  std::vector<std::string> explain() const;
  /// The state of each requested family. Empty for sources other than the kernel.
  std::vector<FamilyState> families() const;
  const HostInfo& host() const noexcept;
  /// The mistakes in SessionOptions::engine_rules: a rule that has one is left out, and the others hold.
  const std::vector<Problem>& rule_problems() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
