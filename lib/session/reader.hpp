// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <tracer/session.hpp>

#include "base/caller.hpp"
#include "base/counter.hpp"
#include "base/reached.hpp"
#include "dispatch/outlets.hpp"
#include "session/alarm.hpp"
#include "session/context_table.hpp"
#include "session/housekeeper.hpp"
#include "session/label_numbers.hpp"
#include "session/pipeline.hpp"
#include "session/gate.hpp"
#include "session/turn.hpp"
#include "report/state_tables.hpp"
#include "source/source.hpp"

namespace tracer::internal {

/// Reads a source in bounded rounds, on a thread of its own or within poll(), and delivers what comes of it.
///
/// Two things are held, never both waited for at once: the *turn* at source and pipeline, for as long as a round drains
/// or a method asks the source, 20 ms and a snapshot at most; and *delivery*, in the order of rounds, for as long as
/// the callbacks run. Callbacks run without the turn: they, and other threads meanwhile, may call every method but
/// those that wait for the callbacks themselves.
class Reader final : public Housekeeper::View, public std::enable_shared_from_this<Reader> {
 public:
  Reader(std::unique_ptr<Source> source, SessionOptions options, std::shared_ptr<ContextTable> contexts,
         const HostInfo& host);
  ~Reader();

  /// Whose subordinate user ids are whose. Before start().
  void use(const UserIds& user_ids) {
    const std::lock_guard turn(turn_);
    accounts_->use(user_ids);
    if (kernel_side_ != nullptr) kernel_side_->use(user_ids);
    pipeline_.use(user_ids);
  }
  /// For whom processes of root are noted that work for a user. Before start().
  void use(std::shared_ptr<ProvenOwners> owners) {
    const std::lock_guard turn(turn_);
    pipeline_.use(std::move(owners));
  }
  /// In place of SessionOptions::history. Before start().
  void use(std::unique_ptr<SessionHistory> history) {
    const std::lock_guard turn(turn_);
    pipeline_.use(std::move(history), source_->host().wall_offset_ns);
  }
  /// In place of its own: whoever serves the session adds its events, with their owners. Before start().
  void keep_state_in(std::shared_ptr<const StateTables> tables) {
    tables_ = std::move(tables);
    own_tables_.reset();
  }
  void start();
  /// What an earlier process of a service knew, whose session this goes on with.
  struct Left {
    std::vector<LeftProcess> processes = {};  ///< Parents first.
    std::vector<pid_t> commands = {};         ///< Of those: whose program is a run.
    std::map<std::string, std::uint64_t> losses = {};
    std::uint64_t exits = 0;  ///< That were delivered.
  };
  /// Before start().
  void go_on(Left left);
  /// Of the records' context ids.
  ContextTable& contexts() noexcept { return *contexts_; }
  /// Before start(). Called in each round, on the reader's thread, when its events are in all queues: with what
  /// KernelSide::given() said when they were taken.
  using Delivered = std::function<void(std::vector<std::uint64_t> given)>;
  void when_delivered(Delivered delivered) { when_delivered_ = std::move(delivered); }
  /// Null: the source has none.
  KernelSide* kernel_side() noexcept { return kernel_side_; }
  /// From any thread. See Housekeeper::let_rest().
  void let_rest(bool may) noexcept {
    housekeeper_.let_rest(may);
    if (!may) alarm_.ring();
  }
  void request_stop() noexcept;
  bool in_callback() const noexcept { return delivering_.load() == std::this_thread::get_id(); }
  /// Throws Error(kInCallback).
  void stop();
  /// For a destructor: as stop(), but inside a callback it only asks for the end, which comes when the callback
  /// returns.
  void stop_or_leave() noexcept;
  /// Throws Error: kInCallback, kContradiction where the reader has its own thread.
  std::size_t poll(std::chrono::milliseconds timeout) { return poll_beside(timeout, -1); }

  /// Throws Error(kInCallback), and what `go_on` throws.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on);

  /// `as`: if it is any of these, it is followed already, and keeps its labels if there is no context.
  void track(pid_t pid, const Context& context, TrackAs as = {});
  void report_own_work(const Context& task, OwnWork work, const Caller& caller);
  /// `judged`: see checked(); `limit`: see Pipeline::announce().
  void announce(const Announcement& announcement, const Caller& caller, const std::optional<JudgedFolder>& judged = {},
                const std::optional<AnnouncementLimit>& limit = {});
  /// They are among the events.
  bool has_findings() const noexcept { return options_.findings; }
  /// What users make the session keep, and have lost. From any thread.
  const std::shared_ptr<Accounts>& accounts() const noexcept override { return accounts_; }
  /// See Session.
  Key submit(const Submission& submission, const Caller& caller, const std::optional<SubmittedEarlier>& earlier = {});
  void withdraw(const Withdrawal& withdrawal, const Caller& caller);
  /// See Pipeline. Before start().
  std::vector<Event> submitted() { return pipeline_.submitted(); }
  std::optional<Key> task_key_of(const Context& context, uid_t uid) const {
    return pipeline_.task_key_of(context, uid);
  }
  /// What this user holds. From any thread.
  AnnouncementShares::Share announcements_of(uid_t uid) { return pipeline_.announcements_of(uid); }
  struct OpenLabel {
    std::uint64_t serial = 0;
    std::uint32_t number = 0;  ///< Of its context.
    std::shared_ptr<const Context> context = {};
  };
  /// Of the caller's thread. Absent: there is nobody to ask, or not now.
  std::optional<OpenLabel> open_label(const Context& context, const Caller& caller);
  void close_label(const OpenLabel& label) noexcept;
  /// For the caller's thread.
  void resume_label(const OpenLabel& label, const Caller& caller) noexcept;
  void disown_thread(const Caller& caller) noexcept;
  std::vector<ProcessSample> living();
  /// A queue that its owner reads by itself, from now on.
  void fill(std::shared_ptr<QueueState> queue) { outlets_.add(std::move(queue)); }
  /// Calls `take` once with what Pipeline::living() says: between two rounds, when what
  /// came before is in all queues, and nothing of what comes after. On the reader's thread; at once, and with nothing,
  /// where nothing can live.
  void tell_living(std::function<void(std::span<const Event> living)> take) { add(true, std::move(take)); }
  Queue queue(QueueOptions options);
  SinkHandle add_sink(std::unique_ptr<Sink> sink, QueueOptions options);
  Subscription subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback,
                         SubscribeOptions options);

  /// False: in a forked child, which has a copy of what is its parent's, of locks that may be held for ever, and none
  /// of the threads.
  bool in_own_process() const noexcept { return ::getpid() == pid_; }

  // From any thread, without waiting.
  int fd() const noexcept { return alarm_.fd(); }
  /// All is delivered.
  bool finished() const noexcept { return finished_.load(); }
  Statistics statistics() const;
  std::map<std::string, std::uint64_t> losses() const override;
  OwnCost cost() const override;
  std::uint64_t reader_cpu_ns() const override { return cpu_ns_.value(); }
  /// CPU time of opening and starting the session.
  Counter& start_cpu_ns() noexcept { return start_cpu_ns_; }
  std::vector<ContextTotals> totals() const override;
  /// With a desk, it may be asked, and waited for.
  std::string state(const StateQuery& query) const;
  std::vector<FamilyState> families() const override;
  const std::vector<Problem>& rule_problems() const noexcept { return rule_problems_; }

 private:
  enum class State { kNew, kRunning, kFinished };
  /// Each begins to get events, after those that say what lives.
  using Newcomers = std::vector<std::function<void(std::span<const Event> living)>>;

  /// As poll(), but also returns when `other_fd` is readable.
  std::size_t poll_beside(std::chrono::milliseconds timeout, int other_fd);
  /// Reads, and delivers. Takes delivery over.
  std::size_t take_turn(std::unique_lock<Gate> delivery);
  void run() noexcept;
  /// With delivery held.
  std::size_t round();
  std::size_t finish() noexcept;
  void finish_source() noexcept;
  bool end_processes() noexcept;
  void end_source() noexcept;
  void drive(std::chrono::milliseconds timeout, int queue_fd);
  std::size_t deliver_batch() noexcept;
  void add_to_state() noexcept;
  void add(bool living_first, std::function<void(std::span<const Event> living)> join);
  /// Whether newcomers wait, and did not before the last round: its snapshot, if one is due, comes in the next one.
  bool hurries();
  /// How often rounds come: with the turn.
  void keep_pace();
  Newcomers take_newcomers(bool last);
  void welcome(const Newcomers& newcomers, std::span<const Event> living) noexcept;
  void refuse_in_callback(const char* what) const;
  std::uint32_t number_of(const Context& context);
  std::vector<ProcessSample> living_at_desk();

  const pid_t pid_ = ::getpid();
  const SessionOptions options_;
  const std::unique_ptr<Source> source_;
  Tracker* const tracker_;         ///< Null: the source follows nothing by itself.
  KernelSide* const kernel_side_;  ///< Null: the source has none.
  Desk* const desk_;               ///< Null: the session's callers are answered here.
  const std::shared_ptr<Accounts> accounts_ = std::make_shared<Accounts>();
  const std::shared_ptr<ContextTable> contexts_;
  Alarm alarm_;
  Outlets outlets_;

  Turn turn_;                           ///< At the next two and at source_, but for what these offer to any thread.
  std::vector<Problem> rule_problems_;  ///< Of rules for engines that were left out.
  Pipeline pipeline_;
  Housekeeper housekeeper_;
  LabelNumbers label_numbers_;

  std::shared_ptr<StateTables> own_tables_;    ///< Null: none is kept here.
  std::shared_ptr<const StateTables> tables_;  ///< Null: the desk has it.

  Delivered when_delivered_;
  Gate delivery_;
  std::vector<Event> batch_;                   ///< The one that was delivered last.
  std::atomic<std::thread::id> delivering_{};  ///< Whose callbacks run.
  std::mutex newcomers_mutex_;
  Newcomers newcomers_;
  bool newcomers_closed_ = false;  ///< No round comes any more.
  bool hurried_ = false;           ///< The last round did.
  std::chrono::milliseconds period_{0};
  bool rests_ = false;

  Counter rounds_;  ///< That began.
  Reached rounds_done_;
  Reached delivered_;  ///< By the source's positions.
  std::atomic<State> state_{State::kNew};
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> finished_{false};
  Counter start_cpu_ns_;     ///< Not in the next.
  Counter cpu_ns_;           ///< By whoever has delivery.
  std::mutex thread_mutex_;  ///< Guards the thread's handle.
  std::thread thread_;
};

}  // namespace tracer::internal
