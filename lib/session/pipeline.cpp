// SPDX-License-Identifier: Apache-2.0
#include "session/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"

namespace tracer::internal {

namespace {

[[noreturn]] void refuse(AnnouncementShares::Refusal refusal) {
  using Refusal = AnnouncementShares::Refusal;
  if (refusal == Refusal::kBelow)
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 fmt::format("more than {} patterns for arguments below one process", AnnouncementShares::kMostBelow),
                 "announce work directories, or processes of your own below it",
                 {}});
  const bool all = refusal == Refusal::kFull;
  throw Error({ErrorCode::kServiceRefused,
               0,
               all ? "too many announcements of all users" : "too many bytes of announcements of your user",
               all ? "try again later" : "let some expire, or ask for a higher limit in tracerd.toml",
               {}});
}

}  // namespace

void Pipeline::announce(Announced announced, const std::optional<AnnouncementLimit>& limit) {
  AnnouncementShares& shares = correlator_.announcement_shares();
  const AnnouncementCost cost = announced.cost();
  if (const auto refusal = shares.take(cost, limit); refusal != AnnouncementShares::Refusal::kNone) refuse(refusal);
  const std::lock_guard lock(announced_mutex_);
  try {
    announced_.push_back(std::move(announced));
  } catch (...) {
    shares.give_back(cost);
    throw;
  }
  any_announced_.store(true, std::memory_order_release);
}

std::optional<uid_t> Pipeline::owner_in_keys(uid_t uid) const {
  return user_ids_ ? std::optional(user_ids_->owner_of(uid)) : std::nullopt;
}

Key Pipeline::submit(const Submission& submission, const Caller& caller,
                     const std::optional<SubmittedEarlier>& earlier) {
  Submitted submitted = checked(submission, caller, key_origin_, owner_in_keys(caller.uid));
  if (earlier) submitted.submitted_ns = earlier->submitted_ns;
  if (earlier) submitted.told = earlier->told;
  const Key key = submitted.key();
  const std::lock_guard lock(announced_mutex_);
  submitted_.push_back(std::move(submitted));
  any_announced_.store(true, std::memory_order_release);
  return key;
}

void Pipeline::withdraw(const Withdrawal& withdrawal, uid_t uid, std::uint64_t position) {
  check(withdrawal);
  const std::lock_guard lock(announced_mutex_);
  withdrawn_.push_back({withdrawal, uid, position});
}

void Pipeline::label_opens(const std::shared_ptr<const Context>& labels) {
  if (!labels) return;
  const std::lock_guard lock(announced_mutex_);
  // An end has room then: it can't be refused.
  const std::size_t ends = ended_labels_.size() + labels_open_ + 1;
  if (ended_labels_.capacity() < ends) ended_labels_.reserve(2 * ends);
  opened_labels_.push_back(labels);
  ++labels_open_;
  any_announced_.store(true, std::memory_order_release);
}

void Pipeline::label_ends(const std::shared_ptr<const Context>& labels, std::uint64_t position) noexcept {
  if (!labels) return;
  const std::lock_guard lock(announced_mutex_);
  ended_labels_.push_back({labels, position});
  --labels_open_;
}

void Pipeline::own_work(std::shared_ptr<const Context> labels, pid_t pid, OwnWork work) {
  const std::lock_guard lock(announced_mutex_);
  own_work_.push_back({std::move(labels), pid, std::move(work)});
  any_announced_.store(true, std::memory_order_release);
}

void Pipeline::came_to(std::uint64_t position) {
  take_announced();
  std::vector<std::shared_ptr<const Context>> over;
  {
    const std::lock_guard lock(announced_mutex_);
    std::erase_if(ended_labels_, [&](const EndedLabel& ended) {
      if (ended.position <= position) over.push_back(ended.labels);
      return ended.position <= position;
    });
  }
  for (const auto& labels : over) correlator_.label_ended(labels, boot_time_ns(), batch_);
  withdraw_up_to(position);
}

void Pipeline::withdraw_up_to(std::uint64_t position) {
  std::vector<Withdrawn> over;
  {
    const std::lock_guard lock(announced_mutex_);
    const auto first_of_others = std::stable_partition(
        withdrawn_.begin(), withdrawn_.end(), [&](const Withdrawn& each) { return each.position <= position; });
    over.assign(std::make_move_iterator(withdrawn_.begin()), std::make_move_iterator(first_of_others));
    withdrawn_.erase(withdrawn_.begin(), first_of_others);
  }
  if (!over.empty()) note_started();
  for (const Withdrawn& each : over)
    for (const AnnouncementName& name : submissions_.withdraw(each.withdrawal, each.uid, boot_time_ns(), batch_))
      correlator_.remove_announcement(name);
}

void Pipeline::note_announced(const Announced& announced, std::uint64_t now_ns) {
  if (submissions_.empty()) return;
  if (const auto key = task_key_of(context_in(announced.packed), announced.uid))
    submissions_.announced(*key, announced.key, announced.uid, now_ns);
}

std::optional<Key> Pipeline::task_key_of(Context context, uid_t uid) const {
  const auto owner = owner_in_keys(context.owner_uid.value_or(uid));
  return internal::task_key_of(std::move(context), key_origin_, owner);
}

std::vector<Event> Pipeline::living() {
  std::vector<Event> events = hidden(followed_ ? followed_->living() : correlator_.living());
  std::vector<Event> waiting = submitted();
  events.insert(events.end(), std::make_move_iterator(waiting.begin()), std::make_move_iterator(waiting.end()));
  return events;
}

/// Tasks that were submitted, and have begun by now.
void Pipeline::note_started() {
  if (submissions_.empty()) return;
  std::vector<Event> started;
  for (std::size_t at = started_up_to_; at < batch_.size(); ++at) {
    started.clear();
    if (const auto* start = batch_[at].get_if<TaskStart>()) {
      TaskStart said = *start;
      said.submitted_ns = submissions_.started(*said.context, said.time_ns, started);
      if (said.submitted_ns) batch_[at] = Event(std::move(said));
    } else if (const auto* change = batch_[at].get_if<ContextChange>()) {
      if (!change->pid && change->old_task_key) submissions_.started(*change->after, change->time_ns, started);
    }
    batch_.insert(batch_.begin() + static_cast<std::ptrdiff_t>(at) + 1, started.begin(), started.end());
    at += started.size();
  }
  started_up_to_ = batch_.size();
}

bool Pipeline::end_processes() {
  constexpr std::size_t kMostAtOnce = 4096;
  take_announced();
  return correlator_.end(boot_time_ns(), batch_, kMostAtOnce);
}

void Pipeline::end_labels() {
  take_announced();
  correlator_.end_labels(boot_time_ns(), batch_);
}

void Pipeline::stop(Family family) { correlator_.stop(family, boot_time_ns(), batch_); }

void Pipeline::take_announced() {
  if (!any_announced_.load(std::memory_order_acquire)) return;
  std::vector<Announced> taken;
  std::vector<Submitted> submitted;
  std::vector<std::shared_ptr<const Context>> opened;
  std::vector<ReportedWork> worked;
  {
    const std::lock_guard lock(announced_mutex_);
    taken.swap(announced_);
    submitted.swap(submitted_);
    opened.swap(opened_labels_);
    worked.swap(own_work_);
    any_announced_.store(false, std::memory_order_relaxed);
  }
  for (const auto& labels : opened) correlator_.label_opened(labels);
  for (ReportedWork& each : worked) correlator_.own_work(each.labels, each.pid, std::move(each.work), batch_);
  for (Submitted& each : submitted) submissions_.submit(std::move(each), batch_);
  const std::uint64_t now_ns = boot_time_ns();
  for (const Announced& each : taken) note_announced(each, now_ns);
  for (Announced& each : taken)
    if (!correlator_.announce(std::move(each), now_ns)) announcements_refused_.add(1);
}

void Pipeline::expire_announcements() {
  take_announced();
  correlator_.expire_announcements(boot_time_ns());
  if (!submissions_.empty()) submissions_.look(boot_time_ns(), batch_);
}

void Pipeline::take_over(const std::vector<LeftProcess>& processes, std::uint64_t exits) {
  take_announced();
  // What nobody was told of yet.
  std::vector<Event> submitted = std::exchange(batch_, {});
  correlator_.take_over(processes, batch_);
  take_batch({});
  batch_ = std::move(submitted);
  exits_.add(exits);
}

/// Of what has ended by the time that it is read, the exit says all that a snapshot could.
void Pipeline::note_begun(const Record& record) {
  if (const auto* start = std::get_if<StartRecord>(&record)) {
    begun_.insert(start->identity.pid);
  } else if (const auto* exec = std::get_if<ExecRecord>(&record)) {
    begun_.insert(exec->identity.pid);
  } else if (const auto* exit = std::get_if<ExitRecord>(&record)) {
    begun_.erase(exit->identity.pid);
  }
}

void Pipeline::record(const Record& record) {
  const bool ended = std::holds_alternative<ExitRecord>(record);
  const auto before = static_cast<std::ptrdiff_t>(batch_.size());
  try {
    note_begun(record);
    take_announced();
    correlator_.on_record(record, batch_);
  } catch (...) {
    out_of_memory();
  }
  if (ended && std::any_of(batch_.begin() + before, batch_.end(),
                           [](const Event& event) { return event.kind() == EventKind::kProcessExit; }))
    exits_.add(1);
}

void Pipeline::event(Event event) {
  const std::size_t first = batch_.size();
  try {
    replay_filter_.apply(std::move(event), batch_);
    count_from(first);
  } catch (...) {
    out_of_memory();
  }
}

void Pipeline::follow(std::uint32_t pid) {
  const std::size_t first = batch_.size();
  replay_filter_.follow(pid, boot_time_ns(), batch_);
  count_from(first);
}

void Pipeline::count_from(std::size_t first) {
  for (std::size_t i = first; i < batch_.size(); ++i) {
    if (batch_[i].kind() == EventKind::kProcessExit) exits_.add(1);
    if (followed_) followed_->saw(batch_[i]);
  }
}

void Pipeline::add(Event event) { batch_.push_back(std::move(event)); }

void Pipeline::begin_snapshot(Correlator::Folding folding) {
  correlator_.begin_snapshot();
  snapshot_ = Snapshot::kEvents;
  folding_ = folding;
}

void Pipeline::begin_query() {
  correlator_.begin_snapshot();
  snapshot_ = Snapshot::kQuery;
}

void Pipeline::abandon_snapshot() noexcept { snapshot_ = Snapshot::kNone; }

void Pipeline::snapshot_end(std::uint64_t time_ns) {
  if (std::exchange(snapshot_, Snapshot::kNone) != Snapshot::kEvents) return;
  try {
    correlator_.end_snapshot(time_ns, folding_, batch_);
  } catch (...) {
    out_of_memory();
  }
}

std::vector<Event> Pipeline::take_batch(std::vector<Event> room) {
  room.clear();
  note_started();
  started_up_to_ = 0;
  if (!insight_) return hidden(std::exchange(batch_, std::move(room)));
  for (Event& event : batch_) {
    try {
      insight_->add(std::move(event), room);
    } catch (...) {
      out_of_memory();
    }
  }
  batch_.clear();
  return hidden(std::move(room));
}

/// After insight, which asks file systems by their paths and knows programs by their arguments.
std::vector<Event> Pipeline::hidden(std::vector<Event> events) {
  if (!names_) return events;
  std::size_t kept = 0;
  for (const Event& event : events) {
    try {
      events[kept] = names_->in(event);
      ++kept;
    } catch (...) {
      out_of_memory();
    }
  }
  events.resize(kept);
  return events;
}

std::vector<ProcessSample> Pipeline::hidden(std::vector<ProcessSample> samples) {
  if (names_)
    for (ProcessSample& sample : samples) names_->hide_in(sample);
  return samples;
}

void Pipeline::count_losses(std::map<std::string, std::uint64_t>& losses) const {
  const auto note = [&losses](const char* cause, std::uint64_t count) {
    if (count != 0) losses[cause] += count;
  };
  note("process_forgotten", correlator_.forgotten() + replay_filter_.forgotten());
  note("cgroup_forgotten", correlator_.cgroups_forgotten());
  note("out_of_memory", out_of_memory_.value());
}

}  // namespace tracer::internal
