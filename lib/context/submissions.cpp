// SPDX-License-Identifier: Apache-2.0
#include "context/submissions.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/heap_bytes.hpp"
#include "context/expiry.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostBytesOfOne = 64u << 10;
constexpr std::size_t kMostExpected = 1024;
constexpr std::size_t kMostAnnouncements = 4;
constexpr std::array<std::string_view, 5> kOutcomes = {"succeeded", "failed", "cached", "aborted", "unknown"};
/// In the order of ToldOfSubmitted::State.
constexpr std::array<std::string_view, 3> kStates = {"submitted", "started", "started_elsewhere"};

[[noreturn]] void refuse(std::string what, std::string fix) {
  throw Error({ErrorCode::kInvalidArgument, 0, std::move(what), std::move(fix), {}});
}

TaskSubmit event_of(const Submitted& submitted, std::string_view state, std::uint64_t time_ns) {
  TaskSubmit event;
  event.time_ns = time_ns;
  event.context = submitted.context;
  event.state = state;
  event.submitted_ns = submitted.submitted_ns;
  event.requested = submitted.requested;
  event.expected = submitted.expected;
  return event;
}

std::size_t size_of(const Submitted& submitted) {
  return sizeof(Context) + heap_bytes(*submitted.context) + heap_bytes(submitted.requested) +
         heap_bytes(submitted.expected);
}

bool has_run(const Submitted& submitted, Key run_key) { return submitted.context->run_key == run_key; }

}  // namespace

Submitted checked(const Submission& submission, const Caller& caller, const KeyOrigin& origin,
                  std::optional<uid_t> owner) {
  Context context = submission.context;
  bound(context);
  if (!context.engine || !context.run_id)
    refuse("a submission without the engine or its run_id", "name the run by both, and a task by task_id as well");
  if (is_task(context) && !context.task_id)
    refuse("a submission of a task without a task_id", "give the engine's own id of the task");
  if (submission.expected.size() > kMostExpected)
    refuse(fmt::format("{} steps are expected", submission.expected.size()), fmt::format("give {}", kMostExpected));
  const std::uint64_t expires_after_ns = expiry_ns(submission.expires_after, "a submission");
  stamp(context, Provenance::kAnnounced);
  if (owner) context.owner_uid = *owner;
  set_run_key(context, origin, owner);
  if (is_task(context)) set_task_key(context, origin, owner);
  if (!context.owner_uid) context.owner_uid = caller.uid;
  Submitted submitted{std::make_shared<const Context>(std::move(context)),
                      submission.requested,
                      submission.expected,
                      boot_time_ns(),
                      expires_after_ns,
                      caller.uid,
                      {}};
  if (size_of(submitted) > kMostBytesOfOne)
    refuse(fmt::format("a submission of {} bytes", size_of(submitted)), fmt::format("keep it to {}", kMostBytesOfOne));
  return submitted;
}

void check(const Withdrawal& withdrawal) {
  if (std::find(kOutcomes.begin(), kOutcomes.end(), withdrawal.outcome) != kOutcomes.end()) return;
  refuse(fmt::format("\"{}\" is not what becomes of a task", withdrawal.outcome.substr(0, 100)),
         "give succeeded, failed, cached, aborted or unknown");
}

std::optional<ToldOfSubmitted::State> ToldOfSubmitted::state_from(std::string_view state) noexcept {
  const auto* const found = std::find(kStates.begin(), kStates.end(), state);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<State>(found - kStates.begin());
}

std::optional<Key> task_key_of(Context context, const KeyOrigin& origin, std::optional<uid_t> owner) {
  if (!context.engine || !context.run_id || !context.task_id) return std::nullopt;
  bound(context);
  stamp(context, Provenance::kAnnounced);
  set_run_key(context, origin, owner);
  set_task_key(context, origin, owner);
  return context.task_key;
}

void Submissions::tell(Submitted& submitted, State state, std::uint64_t time_ns, std::vector<Event>& events) {
  submitted.told = {state, time_ns};
  events.emplace_back(event_of(submitted, kStates[static_cast<std::size_t>(state)], time_ns));
}

std::size_t Submissions::bytes_of(const Row& row) {
  std::size_t bytes = size_of(row.submitted);
  for (const AnnouncementName& name : row.names) bytes += sizeof name + heap_bytes(name.key);
  return bytes;
}

std::vector<Event> Submissions::told() const {
  std::vector<Event> events;
  for (const bool is_task : {false, true})
    rows_.each([&](Key, const Row& row) {
      const Submitted& submitted = row.submitted;
      if (!submitted.told || submitted.context->task_key.has_value() != is_task) return;
      events.emplace_back(
          event_of(submitted, kStates[static_cast<std::size_t>(submitted.told->state)], submitted.told->time_ns));
    });
  return events;
}

void Submissions::submit(Submitted submitted, std::vector<Event>& events) {
  const Key key = submitted.key();
  if (Row* const row = rows_.find(key)) {
    submitted.submitted_ns = row->submitted.submitted_ns;
    if (row->submitted.told->state != State::kQueued && row->submitted.context->task_key) return;
    row->submitted = std::move(submitted);
    // Its engine says all of it anew.
    row->names.clear();
    row->begun_ns = 0;
    rows_.charge(key, bytes_of(*row));
    return tell(row->submitted, State::kQueued, boot_time_ns(), events);
  }
  if (!submitted.told) tell(submitted, State::kQueued, submitted.submitted_ns, events);
  const std::size_t bytes = size_of(submitted);
  const uid_t uid = submitted.uid;
  rows_.put(key, uid, bytes, {std::move(submitted)});
  for (const Submitted& each : dropped_) events.emplace_back(event_of(each, "expired", boot_time_ns()));
  dropped_.clear();
}

void Submissions::announced(Key task_key, const std::string& key, uid_t uid, std::uint64_t now_ns) {
  Row* const row = rows_.find(task_key);
  if (row == nullptr || row->submitted.uid != uid) return;
  const auto is_it = [&](const AnnouncementName& name) { return name.key == key; };
  if (std::any_of(row->names.begin(), row->names.end(), is_it)) {
    if (row->begun_ns == 0) row->begun_ns = now_ns;
    return;
  }
  if (row->names.size() == kMostAnnouncements) return;
  row->names.push_back({uid, key, row->submitted.context});
  if (!rows_.charge(task_key, bytes_of(*row))) row->names.pop_back();
}

std::optional<std::uint64_t> Submissions::started(const Context& context, std::uint64_t time_ns,
                                                  std::vector<Event>& events) {
  Row* const row = context.task_key ? rows_.find(*context.task_key) : nullptr;
  if (row == nullptr) return std::nullopt;
  if (row->submitted.told->state != State::kStarted) tell(row->submitted, State::kStarted, time_ns, events);
  return row->submitted.submitted_ns;
}

std::vector<AnnouncementName> Submissions::withdraw(const Withdrawal& withdrawal, uid_t uid, std::uint64_t now_ns,
                                                    std::vector<Event>& events) {
  std::vector<AnnouncementName> names;
  Row* const row = rows_.find(withdrawal.key);
  if (row == nullptr || row->submitted.uid != uid) return names;
  if (!row->submitted.context->task_key) {
    std::vector<Key> queued;
    rows_.each([&](Key key, Row& each) {
      if (each.submitted.context->task_key && has_run(each.submitted, withdrawal.key)) queued.push_back(key);
    });
    for (const Key key : queued) {
      Row& each = *rows_.find(key);
      // What becomes of a run is not what becomes of a task that has not begun here.
      const State state = each.submitted.told->state;
      const std::string outcome = state == State::kStarted  ? withdrawal.outcome
                                  : state == State::kQueued ? "aborted"
                                                            : "unknown";
      over(key, each, {key, outcome, {}}, now_ns, events, names);
    }
  }
  over(withdrawal.key, *row, withdrawal, now_ns, events, names);
  return names;
}

void Submissions::over(Key key, Row& row, const Withdrawal& withdrawal, std::uint64_t now_ns,
                       std::vector<Event>& events, std::vector<AnnouncementName>& names) {
  const bool ran = withdrawal.outcome == "succeeded" || withdrawal.outcome == "failed";
  const bool is_task = row.submitted.context->task_key.has_value();
  TaskSubmit event = event_of(
      row.submitted, is_task && ran && row.submitted.told->state != State::kStarted ? "ended_elsewhere" : "withdrawn",
      now_ns);
  event.outcome = withdrawal.outcome;
  event.exit_code = withdrawal.exit_code;
  events.emplace_back(std::move(event));
  names.insert(names.end(), row.names.begin(), row.names.end());
  rows_.erase(key);
}

void Submissions::look(std::uint64_t now_ns, std::vector<Event>& events) {
  rows_.erase_if([&](Key, Row& row) {
    Submitted& submitted = row.submitted;
    if (submitted.told->state == State::kQueued && row.begun_ns != 0 && now_ns - row.begun_ns > kElsewhereAfter_ns)
      tell(submitted, State::kElsewhere, now_ns, events);
    if (now_ns - submitted.submitted_ns < submitted.expires_after_ns) return false;
    events.emplace_back(event_of(submitted, "expired", now_ns));
    return true;
  });
}

}  // namespace tracer::internal
