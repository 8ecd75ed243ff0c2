// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/counter.hpp"
#include "base/user_ids.hpp"
#include "context/submissions.hpp"
#include "correlate/correlator.hpp"
#include "correlate/hashed_names.hpp"
#include "correlate/replay_filter.hpp"
#include "history/session_history.hpp"
#include "insight/insight.hpp"
#include "source/feed.hpp"
#include "state/followed.hpp"

namespace tracer::internal {

/// Makes events of what a source yields and collects them until they are delivered. One thread at a time, but for the
/// counters. No lock, no thread.
class Pipeline final : public Feed {
 public:
  /// `kernel_helps`: a part of the filter is decided before records come. `max_processes` are remembered at one time.
  /// `host`: outlives it; null: nobody answers. `insight`: null: nothing is concluded from the events. `followed`:
  /// null: the kernel adds up. `names`: null: events show names as they are.
  Pipeline(Correlator::Rules rules, const Filter& filter, bool kernel_helps, std::size_t max_processes,
           HostQuestions* host, std::unique_ptr<Insight> insight, std::unique_ptr<Followed> followed,
           std::unique_ptr<HashedNames> names)
      : key_origin_(rules.key_origin),
        submissions_(rules.accounts),
        correlator_(std::move(rules), FilterEvaluator(filter, kernel_helps), max_processes, host),
        replay_filter_(FilterEvaluator(filter, false, followed == nullptr), max_processes),
        insight_(std::move(insight)),
        followed_(std::move(followed)),
        names_(std::move(names)) {}

  /// Before the first record: see Correlator::take_over(). Nothing is delivered of it.
  void take_over(const std::vector<LeftProcess>& processes, std::uint64_t exits);

  void record(const Record& record) override;
  void event(Event event) override;
  void snapshot_end(std::uint64_t time_ns) override;

  /// With what reads the source.
  void use(const UserIds& user_ids) {
    user_ids_ = user_ids;
    correlator_.use(user_ids);
    if (insight_) insight_->use(user_ids);
  }
  void use(std::shared_ptr<ProvenOwners> owners) { correlator_.use(std::move(owners)); }
  /// Before the first event. Nothing is compared with a history where there are no findings.
  void use(std::unique_ptr<SessionHistory> history, std::uint64_t wall_offset_ns) {
    if (insight_) insight_->use(std::move(history), wall_offset_ns);
  }
  void add_command(std::uint32_t pid, TrackAs as) { correlator_.add_command(pid, as); }
  /// Whom a session's callers name: a process and its descendants. With what reads the source.
  void follow(std::uint32_t pid);
  /// The processes of a source that keeps contexts elsewhere; null for others.
  const Followed* followed() const noexcept { return followed_.get(); }

  /// Of the session itself: Loss, SessionEnd.
  void add(Event event);
  /// What the source yields from now on is a snapshot, which becomes events at its end.
  void begin_snapshot(Correlator::Folding folding);
  /// What the source yields from now on is a snapshot for take_samples() alone.
  void begin_query();
  /// The snapshot failed: its records are discarded.
  void abandon_snapshot() noexcept;
  std::vector<ProcessSample> take_samples() { return hidden(correlator_.take_samples()); }
  /// From any thread. Applies to every record that the kernel makes after this returns. With `limit`, what is not
  /// refused has room. Throws Error: kServiceRefused for what is beyond the limit, kInvalidArgument for too many
  /// patterns below one process.
  void announce(Announced announced, const std::optional<AnnouncementLimit>& limit = {});
  void expire_announcements();
  /// From any thread. Throws Error(kInvalidArgument). Returns its key.
  Key submit(const Submission& submission, const Caller& caller, const std::optional<SubmittedEarlier>& earlier = {});
  /// Likewise. All records of what is over are before that position of the source.
  void withdraw(const Withdrawal& withdrawal, uid_t uid, std::uint64_t position);
  /// From any thread. Somebody may be labeled so from now on. Null: these are no labels.
  void label_opens(const std::shared_ptr<const Context>& labels);
  /// Likewise. All that was labeled so by this label is before that position of the source.
  void label_ends(const std::shared_ptr<const Context>& labels, std::uint64_t position) noexcept;
  /// Likewise: of the process `pid`, with what `labels` label; null: outside of all tasks. Before the end of the label.
  void own_work(std::shared_ptr<const Context> labels, pid_t pid, OwnWork work);
  /// The source has yielded all before it.
  void came_to(std::uint64_t position);
  /// What was collected of processes that live on. False: there may be more, when these have been taken.
  bool end_processes();
  /// No label lives longer than the session.
  void end_labels();
  /// The number of labels means nothing any more, or soon others.
  void forget_context(std::uint32_t number) { correlator_.set_context(number, nullptr); }
  void stop(Family family);
  /// See Correlator::memory_moves().
  bool memory_moves() const noexcept { return correlator_.memory_moves(); }
  /// See Correlator::at_rest().
  bool at_rest() const noexcept { return correlator_.at_rest(); }
  /// Whether a process or a program has begun since the last call, and has not ended yet.
  bool take_begun() noexcept {
    const bool any = !begun_.empty();
    begun_.clear();
    return any;
  }

  /// A RunStart, TaskStart and ProcessStart of all that lives, outer ones and parents first; and a TaskSubmit of all
  /// that is submitted.
  std::vector<Event> living();
  /// The last of these alone.
  std::vector<Event> submitted() { return hidden(submissions_.told()); }
  /// Of the task that these words submit, by this user.
  std::optional<Key> task_key_of(Context context, uid_t uid) const;
  /// As events show them.
  std::vector<ProcessSample> hidden(std::vector<ProcessSample> samples);

  bool has_batch() const noexcept { return !batch_.empty(); }
  /// The events since the last call, in their order; `room` is what an earlier call gave, to be filled again.
  std::vector<Event> take_batch(std::vector<Event> room);

  // From any thread.
  std::uint64_t exits() const noexcept { return exits_.value(); }
  std::uint64_t secrets_masked() const noexcept { return correlator_.secrets_masked(); }
  std::uint64_t announcements_met() const noexcept { return correlator_.announcements().met(); }
  std::uint64_t announcements_expired() const noexcept { return correlator_.announcements().expired(); }
  AnnouncementShares::Share announcements_of(uid_t uid) { return correlator_.announcement_shares().of(uid); }
  std::uint64_t announcements_refused() const noexcept { return announcements_refused_.value(); }
  void out_of_memory() noexcept { out_of_memory_.add(1); }
  /// Adds what was lost here, by cause.
  void count_losses(std::map<std::string, std::uint64_t>& losses) const;

 private:
  enum class Snapshot { kNone, kEvents, kQuery };

  struct EndedLabel {
    std::shared_ptr<const Context> labels;
    std::uint64_t position = 0;
  };

  struct Withdrawn {
    Withdrawal withdrawal;
    uid_t uid = 0;
    std::uint64_t position = 0;
  };

  struct ReportedWork {
    std::shared_ptr<const Context> labels;
    pid_t pid = 0;
    OwnWork work;
  };

  void note_begun(const Record& record);
  void take_announced();
  void withdraw_up_to(std::uint64_t position);
  /// Of the session's users, in keys; absent: it has one.
  std::optional<uid_t> owner_in_keys(uid_t uid) const;
  /// The task that is submitted by these words, if one is.
  void note_announced(const Announced& announced, std::uint64_t now_ns);
  void note_started();
  std::vector<Event> hidden(std::vector<Event> events);
  /// Of those that were added since.
  void count_from(std::size_t first);

  const KeyOrigin key_origin_;
  std::optional<UserIds> user_ids_;  ///< Absent: the session serves one user.
  Submissions submissions_;
  Correlator correlator_;
  std::atomic<bool> any_announced_{false};
  std::mutex announced_mutex_;
  std::vector<Announced> announced_;                           ///< Not taken yet.
  std::vector<Submitted> submitted_;                           ///< Likewise.
  std::vector<Withdrawn> withdrawn_;                           ///< Of which records may still come.
  std::vector<std::shared_ptr<const Context>> opened_labels_;  ///< Likewise.
  std::vector<ReportedWork> own_work_;                         ///< Likewise.
  std::vector<EndedLabel> ended_labels_;                       ///< Of which records may still come.
  std::size_t labels_open_ = 0;
  Counter announcements_refused_;
  ReplayFilter replay_filter_;
  std::unique_ptr<Insight> insight_;
  const std::unique_ptr<Followed> followed_;
  const std::unique_ptr<HashedNames> names_;
  std::vector<Event> batch_;
  std::size_t started_up_to_ = 0;  ///< Of the batch: see note_started().
  Snapshot snapshot_ = Snapshot::kNone;
  Correlator::Folding folding_ = Correlator::Folding::kNone;
  std::unordered_set<std::uint32_t> begun_;  ///< Pids of what began since take_begun(), and lives.
  Counter exits_;
  Counter out_of_memory_;
};

}  // namespace tracer::internal
