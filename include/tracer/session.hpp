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
#include <tracer/state.hpp>
#include <tracer/statistics.hpp>
#include <tracer/subscription.hpp>
#include <tracer/thread_label.hpp>
#include <tracer/tier.hpp>

namespace tracer {

namespace internal {
struct SessionAccess;
}  // namespace internal

/// Who reads events and runs callbacks.
enum class ReaderMode {
  kOwnThread,  ///< The session reads events and runs callbacks on its own thread.
  kPoll,       ///< The caller reads events and runs callbacks, with fd() and poll().
};

struct SessionOptions {
  /// Where the events may come from: the first that works is taken. kRecording is none of them: it is a Source.
  std::vector<Tier> tiers = {Tier::kKernel};
  std::filesystem::path service_socket = "/run/tracer/tracer.sock";  ///< Tier::kService: where the service listens.
  Filter filter = {};  ///< Default: every process that this pid namespace shows (without root: only your own).
  ReaderMode reader = ReaderMode::kOwnThread;
  /// The buffer between kernel and reader. A power of two, from a page to 2 GiB. The defaults of this and the next
  /// three options depend on the machine: scale_of_this_machine().
  std::size_t ring_bytes = scale_of_this_machine().ring_bytes;
  /// Processes tracked at one time, at most 2^26; more are counted as lost.
  std::size_t max_processes = scale_of_this_machine().max_processes;
  /// Threads whose waits are followed at one time, at most 2^26. The ledgers of a process with more are absent, and
  /// counted as lost.
  std::size_t max_threads = scale_of_this_machine().max_threads;
  /// Cgroups below those of the filter, at most 2^26. Processes of further cgroups are not taken in; these cgroups are
  /// counted as lost.
  std::size_t max_cgroups = scale_of_this_machine().max_cgroups;
  /// Different labels at one time: open ones, and those of living processes. About 0.2 KiB each; the first 256 take
  /// that for each CPU. At most 2^26.
  std::size_t max_contexts = 16384;
  std::size_t max_labeled_threads = 4096;    ///< At one time; see label_thread(). About 0.2 KiB each. At most 2^26.
  std::size_t max_announcements = 1u << 17;  ///< At one time; about 0.5 KiB each.
  std::vector<Family> families = default_families();  ///< Besides the lifecycle; docs/families.md lists them.
  /// Family::kSnapshots: the longest time between two snapshots, at least 100 ms. While a process is young or memory
  /// grows, there are up to five snapshots in this time.
  std::chrono::milliseconds sample_interval{1000};
  /// The share of one CPU that the session may cost, at least 0. A session that costs more for three seconds disables
  /// its most expensive family; families() then reports it. To measure its kernel side, the session turns on the
  /// kernel's statistics of BPF programs while it lives (BPF_ENABLE_STATS, about 50 ns for each run of any BPF program
  /// on the machine); without CAP_SYS_ADMIN, only the reader is measured. Absent: no limit.
  std::optional<double> max_cost_share = {};
  bool mask_secrets = true;  ///< In arguments, by rules/secrets.toml.
  /// Events show hashes in place of paths and addresses, and "***" in place of arguments; docs/security.md lists what
  /// stays. Equal names have equal hashes within the session; its key is random, and never stored.
  bool hash_paths = false;
  std::filesystem::path tool_rules = {};    ///< Replaces the built-in rules/tools.toml; empty: built-in.
  std::filesystem::path secret_rules = {};  ///< Replaces rules/secrets.toml in the same way.
  std::filesystem::path engine_rules = {};  ///< Comes before the built-in rules/engines.toml; empty: built-in only.
  /// Rules for engines may read names from files that an engine has written for others, such as the first lines of
  /// Nextflow's .command.run. False: no such file is read.
  bool read_engine_notes = true;
  /// Findings are made of the events, and delivered as such; see docs/findings.md. False: none are, and tasks have no
  /// task_ledger.
  bool findings = true;
  /// A database of earlier runs, made if it is not there: what is usual is learned from it, and this session's tasks
  /// and runs are added; see docs/history.md. A folder for it must exist. Empty: none.
  std::filesystem::path history = {};
  /// A process that the filter takes in, such as that of a Command. Its program is a run, with the tool's name as
  /// inferred `run`, unless labels or engine rules give its run. 0: none.
  pid_t command_pid = 0;
  std::function<void(std::exception_ptr)> on_error = {};  ///< Gets what a callback threw; on the dispatching thread.
};

struct SubscribeOptions {
  bool living_first = false;  ///< Like QueueOptions::living_first; called on the dispatching thread.
};

/// A running capture. Thread-safe: unless stated otherwise, any thread may call any method, also inside a callback, and
/// no method waits for a callback or a slow subscriber. Destroying a Session stops it, as stop() does; inside a
/// callback, the end comes when the callback has returned, and does not wait for sinks. In a forked child, the session
/// belongs to the parent: the child may only destroy it, which does nothing.
class TRACER_EXPORT Session {
 public:
  /// Opens the first of SessionOptions::tiers that works: a tier that lacks a right, something of the kernel or its
  /// service gives way to the next; tier_problems() has why. Loads and checks everything; delivers nothing before
  /// start(). Throws Error with everything that is missing:
  /// kPermission (CAP_BPF, CAP_PERFMON), kNoBtf, kKernelTooOld, kPidNamespace, kProgramRefused, kFilterNamesNothing,
  /// kInvalidArgument, kInvalidRules, kFileUnreadable, kNoMemory; by a service also kNoService, kServiceVersion,
  /// kServiceRefused.
  explicit Session(SessionOptions options = {});
  /// Reads a source: a recording, all that a service shows (connect()), or a FakeSource in tests.
  Session(Source source, SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Calls `callback` for each event of type E from now on: on the session's thread, or in poll(). The event is
  /// borrowed: valid during the call. Do only quick work in it, because the kernel's ring fills meanwhile; use a
  /// queue() for slower work. An exception that it throws is counted and goes to SessionOptions::on_error.
  template <EventType E>
  [[nodiscard]] Subscription on(std::function<void(const E&)> callback, SubscribeOptions options = {}) {
    return subscribe(
        E::kKind, [callback = std::move(callback)](const Event& event) { callback(*event.get_if<E>()); }, options);
  }
  /// Like on(), for events of all kinds; a copy of the handle keeps the event.
  [[nodiscard]] Subscription on_any(std::function<void(const Event&)> callback, SubscribeOptions options = {}) {
    return subscribe(std::nullopt, std::move(callback), options);
  }
  /// Like on(), for one kind that is known only at run time; without a kind: for all. Throws Error(kInvalidArgument):
  /// there is no such kind.
  [[nodiscard]] Subscription subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback,
                                       SubscribeOptions options = {});
  /// A queue of the events from now on, which its reader takes at its own pace. Throws Error: kInvalidArgument (no
  /// capacity), kNoMemory.
  [[nodiscard]] Queue queue(QueueOptions options = {});
  /// Makes `sink` write the events from now on, on its own thread. Throws Error: kInvalidArgument, kNoMemory.
  SinkHandle add_sink(std::unique_ptr<Sink> sink, QueueOptions options = {});

  /// Begins to deliver. Living processes that the filter takes in come first, as ProcessStart with attached_ns. Moves
  /// the calling thread to each CPU for a moment. Does nothing if the session was started or stopped before.
  void start();
  /// Delivers all pending events, a ProcessSample of each process that still lives, and SessionEnd; then nothing more.
  /// Waits for a running callback, and up to two seconds for sinks. Idempotent. Don't hold a lock that a callback
  /// takes. Throws Error(kInCallback) inside a callback.
  void stop();
  /// Asks for the end and does not wait: it comes on the session's thread, or with the next poll(). If called before
  /// start(), the end comes at start(), and nothing is delivered.
  void request_stop() noexcept;
  /// Takes in a living process and its descendants from now on, or from start() on; processes that are already followed
  /// get the new labels. Does nothing for recordings, and after the end. Throws Error: kFilterNamesNothing if the
  /// process does not exist, kInvalidArgument beyond max_contexts; by a service also kPermission (another user's
  /// process), kNoService, kServiceRefused.
  void track(pid_t pid, const Context& context = {});

  /// Labels the processes that the calling thread forks, and their descendants, until the returned label ends; also
  /// those that threads created by it fork. The kernel decides at the fork, so many threads can run different tasks at
  /// once. Labeled processes are followed even if no include rule matches, unless the filter excludes them. Inside the
  /// scope of another label, this one counts; an empty context stands for the labels of the calling process. Two scopes
  /// with equal contexts are one task: give each a task_id to separate them. Costs a few system calls. May be called
  /// before start(), and then holds for forks after start(). Does nothing for recordings and FakeSources, and after the
  /// end. Throws Error: kInvalidArgument beyond max_contexts or max_labeled_threads; by a service also kNoService,
  /// kServiceRefused.
  [[nodiscard]] ThreadLabel label_thread(const Context& context);
  /// Until a label is set or resumed, processes that the calling thread forks get no thread label, even if an outer
  /// scope or the thread's creator has one: only the filter takes them in, with the labels of the calling process. May
  /// be called before start(). Does nothing for recordings and FakeSources, and after the end. Costs as much as
  /// ThreadLabel::resume().
  void unlabel_thread() noexcept;

  /// Reports what this process itself consumed between two moments, in the task with these labels, or in none, as an
  /// OwnWork event. Only the caller knows which part of its threads' time belonged to a task; parts must not overlap.
  /// Call it before the label of the task ends, so that its TaskFinish includes the work. Does nothing if the session
  /// does not follow this process, for recordings and FakeSources, and after the end. Any thread.
  void report_own_work(const Context& task, const OwnWork& work);

  /// Announces which run or task processes belong to, before they begin or while they live; ContextChange reports the
  /// new context of living ones. Does not wait, except without root for the file system that knows the folder's owner.
  /// The cost does not depend on the number of living processes. An announcement with the same key adds to the earlier
  /// one, and wins over it. Announcements that match no process expire, and are counted; so are those beyond
  /// max_announcements. Does nothing with recordings, and after the end. Throws Error: kInvalidArgument (a key that
  /// matches everything, an empty context, more than 64 KiB or 64 labels), kFilterNamesNothing (the process is gone),
  /// kPermission (without root: another user's folder or process).
  void announce(const Announcement& announcement);
  /// Reports a task that waits for its turn, or a run with what is expected of it; returns its key. A process that an
  /// announcement or a rule puts into the task starts it: TaskStart::submitted_ns. Submitting it again replaces its
  /// context and requests, and keeps its time. TaskSubmit events report what becomes of it. Throws Error:
  /// kInvalidArgument (no engine, run_id and task_id; more than 64 KiB), and by a service kServiceRefused,
  /// kServiceVersion from one that is older than this request. Any thread.
  Key submit(const Submission& submission);
  /// Reports that a submitted task is over: nothing of it is kept, nor of its announcements. Does nothing for a key
  /// that is not known. Throws Error(kInvalidArgument) for another outcome. Any thread.
  void withdraw(const Withdrawal& withdrawal);

  /// Readable when poll() has something to do, timers included: the caller needs no timeout. Owned by the session;
  /// never -1.
  int fd() const noexcept;
  /// ReaderMode::kPoll: waits for events, at most `timeout`, and delivers them; a negative timeout waits without a
  /// limit. Returns the number of events. Throws Error: kInCallback; kContradiction with ReaderMode::kOwnThread.
  std::size_t poll(std::chrono::milliseconds timeout);
  /// Waits until everything that happened before the call is delivered: to callbacks, which have returned, to queues,
  /// and to the queues of sinks. ProcessExit of a process that the caller waited for has then been delivered. A
  /// recording has been read to its present end. With ReaderMode::kPoll, it drives the session itself, as poll() does.
  /// Before start() and after the end, it returns at once. Returns false if `timeout` passed, or `go_on` returned
  /// false; a negative timeout waits without a limit. It calls `go_on` on the calling thread, with no lock held, at
  /// least every 50 ms except during callbacks that this thread runs; exceptions of `go_on` pass through. Check for
  /// signals in `go_on`: repeated short calls may never catch up with new events. Throws Error(kInCallback) inside a
  /// callback.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on = {});
  /// True while the calling thread runs a callback of this session, where stop(), poll() and flush() throw.
  bool in_callback() const noexcept;
  /// True once everything is delivered: after stop(), or when the source has ended (recordings).
  bool finished() const noexcept;

  /// The tracked processes that live now, with their accounts so far. Empty for recordings. Waits for its turn at the
  /// source: 20 ms, or a snapshot. Throws Error if the kernel refuses to visit living processes, such as without
  /// descriptors (kProgramRefused) or memory (kNoMemory).
  std::vector<ProcessSample> living();
  Statistics statistics() const;
  /// Sums by context, from the kernel. By a service: of the events that were delivered, so that a lost event is missing
  /// in them. Empty for recordings.
  std::vector<ContextTotals> totals() const;
  /// The runs, steps, tasks, findings and counts of what was delivered so far, as one JSON object without a line end,
  /// at most 1 MiB: docs/state.md describes it. A view asks again with `since` of the last one, and gets what has
  /// changed. By a service without a filter and hash_paths: of all that the caller may see, whenever it began; the
  /// service is asked, and waited for up to two seconds. Also after the end. Throws Error: kInvalidArgument (no such
  /// rows or field, or a key that is none); by a service also kNoService, kServiceRefused (one of an earlier version,
  /// too).
  std::string state(const StateQuery& query = {}) const;
  /// One line for each rule of the filter: its effect, and whether the kernel or user space decides it.
  std::vector<std::string> explain() const;
  /// The state of each requested family; by a service: of each that it has. Empty for recordings.
  std::vector<FamilyState> families() const;
  /// Where the events come from.
  Tier tier() const noexcept;
  /// Why the earlier ones of SessionOptions::tiers were not taken, in their order.
  const std::vector<Problem>& tier_problems() const noexcept;
  const HostInfo& host() const noexcept;
  /// The mistakes in SessionOptions::engine_rules: rules with a mistake are left out, and the others work.
  const std::vector<Problem>& rule_problems() const noexcept;

 private:
  friend struct internal::SessionAccess;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
