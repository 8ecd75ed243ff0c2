// SPDX-License-Identifier: Apache-2.0
#include "serve/hub.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "serve/for_others.hpp"

namespace tracer::internal {

Hub::Viewer& Hub::viewer(const Sight& sight) { return viewers_.try_emplace(sight).first->second; }

/// What says something of all is said of the viewer's own alone.
Event Hub::as_seen(const Sight& sight, Viewer& viewer, const Event& event) const {
  if (sight.all) return event;
  if (const auto* end = event.get_if<SnapshotEnd>()) {
    SnapshotEnd own = *end;
    own.processes = std::exchange(viewer.samples, 0);
    return own;
  }
  if (const auto* end = event.get_if<SessionEnd>()) {
    SessionEnd own{};
    own.time_ns = end->time_ns;
    own.processes_started = viewer.started;
    own.processes_ended = own.exits_delivered = viewer.ended;
    own.losses = end->losses;
    own.missing_families = end->missing_families;
    return own;
  }
  if (event.kind() == EventKind::kProcessSample) ++viewer.samples;
  if (const auto* sample = event.get_if<ToolSample>()) viewer.samples += sample->processes;
  if (event.kind() == EventKind::kProcessStart) ++viewer.started;
  if (event.kind() == EventKind::kProcessExit) ++viewer.ended;
  return event;
}

namespace {

/// A client's own "queue_full" stands for events that have numbers: what the service itself has lost has none.
Event numbered(const Event& event) {
  const auto* loss = event.get_if<Loss>();
  if (loss == nullptr || loss->cause != "queue_full") return event;
  Loss of_service = *loss;
  of_service.cause = "service_queue_full";
  return of_service;
}

}  // namespace

void Hub::deliver(std::span<const Event> events, Clock::time_point now) {
  for (const Event& event : events) deliver(judged(event), now);
}

Spool::Judged Hub::judged(const Event& event) {
  Spool::Judged judged{numbered(event), {}, false};
  judged.owner = ownership_.owner_of(judged.event);
  judged.changed_user = ownership_.changed_user();
  return judged;
}

void Hub::deliver(const Spool::Judged& judged, Clock::time_point now) {
  const auto& [event, owner, changed_user] = judged;
  if (event.kind() == EventKind::kFinding) note_finding(event, owner);
  std::optional<Event> masked;
  for (auto& [sight, viewer] : viewers_) {
    if (!may_see(sight, owner)) continue;
    if (!sight.all && !masked) masked = for_owner(event, owner, changed_user, ownership_);
    give(sight, viewer, sight.all ? event : *masked, now);
  }
}

std::vector<Spool::Viewer> Hub::viewers() const {
  std::vector<Spool::Viewer> viewers;
  for (const auto& [sight, viewer] : viewers_)
    viewers.push_back({sight, viewer.last, viewer.samples, viewer.started, viewer.ended});
  return viewers;
}

void Hub::add(const Spool::Viewer& left, Clock::time_point now) {
  Viewer& viewer = this->viewer(left.sight);
  viewer.last = left.last;
  viewer.samples = left.samples;
  viewer.started = left.started;
  viewer.ended = left.ended;
  viewer.views.try_emplace({}, host_).first->second.left = now;
}

void Hub::give(const Sight& sight, Viewer& viewer, const Event& event, Clock::time_point now) {
  const std::uint64_t number = ++viewer.last;
  const Event seen = as_seen(sight, viewer, event);
  for (auto& [kinds, view] : viewer.views)
    if (view.wants(seen.kind())) put(view, seen, number, now);
}

void Hub::put(View& view, const Event& event, std::uint64_t number, Clock::time_point now) {
  std::vector<SharedFrame> done;
  view.maker.append(event, number, done);
  if (!view.open_since) view.open_since = now;
  if (!done.empty()) view.open_since = now;
  const auto due = *view.open_since + kLongestOpen;
  if (!next_tick_ || due < *next_tick_) next_tick_ = due;
  hand_out(view, done);
}

void Hub::hand_out(View& view, std::vector<SharedFrame>& done) {
  for (SharedFrame& frame : done) {
    for (Outbox* const outbox : view.outboxes) {
      outbox->push(frame);
      filled_.insert(outbox);
    }
    if (!view.kinds.empty()) continue;
    view.recent_bytes += frame->charge_bytes();
    kept_bytes_ += frame->charge_bytes();
    view.recent.push_back(std::move(frame));
    while (view.recent_bytes > limits_.bytes_kept && view.recent.size() > 1) forget_oldest(view);
    while (kept_bytes_ > limits_.bytes_kept_of_all) {
      View* const largest = holds_most();
      if (largest == nullptr) break;
      forget_oldest(*largest);
    }
  }
  done.clear();
}

void Hub::forget_oldest(View& view) {
  view.recent_bytes -= view.recent.front()->charge_bytes();
  kept_bytes_ -= view.recent.front()->charge_bytes();
  view.recent.pop_front();
}

/// Of recent frames; null: nobody holds any.
Hub::View* Hub::holds_most() {
  View* most = nullptr;
  for (auto& [sight, viewer] : viewers_)
    for (auto& [kinds, view] : viewer.views)
      if (!view.recent.empty() && (most == nullptr || view.recent_bytes > most->recent_bytes)) most = &view;
  return most;
}

void Hub::close(View& view) {
  std::vector<SharedFrame> done;
  view.maker.close(done);
  view.open_since.reset();
  hand_out(view, done);
}

void Hub::close_frames(const Sight& sight) {
  const auto found = viewers_.find(sight);
  if (found == viewers_.end()) return;
  for (auto& [kinds, view] : found->second.views) close(view);
}

void Hub::tick(Clock::time_point now) {
  next_tick_.reset();
  const auto due_at = [this](Clock::time_point due) {
    if (!next_tick_ || due < *next_tick_) next_tick_ = due;
  };
  for (auto& [sight, viewer] : viewers_) {
    for (auto each = viewer.views.begin(); each != viewer.views.end();) {
      View& view = each->second;
      if (view.open_since && now - *view.open_since >= kLongestOpen) close(view);
      if (view.open_since) due_at(*view.open_since + kLongestOpen);
      const bool unused = view.outboxes.empty();
      if (unused && (!view.kinds.empty() || now - view.left >= limits_.kept_without_clients)) {
        kept_bytes_ -= view.recent_bytes;
        each = viewer.views.erase(each);
        continue;
      }
      if (unused) due_at(view.left + limits_.kept_without_clients);
      ++each;
    }
  }
}

void Hub::replay(Outbox& outbox, const View* all, const std::set<EventKind>& kinds, std::uint64_t from,
                 Joined& joined) {
  const std::uint64_t next = joined.sequence;
  std::uint64_t first_kept = next;
  if (all != nullptr && !all->recent.empty()) first_kept = all->recent.front()->first;
  joined.sequence = std::max(from, std::min(first_kept, next));
  joined.missed = joined.sequence - from;
  if (all == nullptr) return;
  std::vector<SharedFrame> frames;
  FrameMaker maker(host_);
  for (const SharedFrame& frame : all->recent) {
    if (frame->first + frame->events <= joined.sequence) continue;
    if (kinds.empty() && frame->first >= joined.sequence) {
      frames.push_back(frame);
      continue;
    }
    std::uint64_t number = std::max(frame->first, joined.sequence);
    for (const Event& event : events_from(*frame, joined.sequence)) {
      const EventKind kind = event.kind();
      if (kinds.empty() || kind == EventKind::kLoss || kind == EventKind::kSessionEnd || kinds.contains(kind))
        maker.append(event, number, frames);
      ++number;
    }
    maker.close(frames);
  }
  for (SharedFrame& frame : frames) outbox.push(std::move(frame));
}

Hub::Joined Hub::join(Outbox& outbox, const Sight& sight, std::set<EventKind> kinds, std::span<const Event> living,
                      std::optional<std::uint64_t> from, Clock::time_point now) {
  Viewer& viewer = this->viewer(sight);
  if (from && (*from == 0 || *from > viewer.last + 1))
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 fmt::format("there is no event {} yet: the last one is {}", *from, viewer.last),
                 "give a number of this session, or none",
                 {}});
  View& view = viewer.views.try_emplace(kinds, host_).first->second;
  view.kinds = kinds;
  // It begins with the next frame, in which nothing is that it gets otherwise.
  close_frames(sight);
  Joined joined{.sequence = viewer.last + 1};
  if (from) {
    const auto all = viewer.views.find({});
    replay(outbox, all == viewer.views.end() ? nullptr : &all->second, kinds, *from, joined);
  } else if (!living.empty()) {
    std::vector<SharedFrame> frames;
    FrameMaker maker(host_);
    for (const Event& event : living) {
      const Owner owner = ownership_.owner_of(event);
      if (!may_see(sight, owner) || !view.wants(event.kind())) continue;
      maker.append(sight.all ? event : for_owner(event, owner, ownership_), 0, frames);
      ++joined.living;
    }
    maker.close(frames);
    for (SharedFrame& frame : frames) outbox.push(std::move(frame));
  }
  view.outboxes.insert(&outbox);
  view.left = now;
  filled_.insert(&outbox);
  return joined;
}

void Hub::leave(Outbox& outbox, Clock::time_point now) noexcept {
  filled_.erase(&outbox);
  for (auto& [sight, viewer] : viewers_) {
    for (auto& [kinds, view] : viewer.views) {
      if (view.outboxes.erase(&outbox) == 0) continue;
      view.left = now;
      if (!next_tick_) next_tick_ = now;
    }
  }
}

void Hub::note_finding(const Event& event, const Owner& owner) {
  const auto key = static_cast<std::uint64_t>(event.get_if<Finding>()->finding_key);
  const auto [known, fresh] = findings_.insert_or_assign(key, std::pair(event, owner));
  if (!fresh) return;
  finding_order_.push_back(key);
  if (finding_order_.size() <= kMostFindings) return;
  findings_.erase(finding_order_.front());
  finding_order_.pop_front();
}

std::vector<Finding> Hub::findings(const Sight& sight, std::uint64_t since_ns) const {
  std::vector<Finding> findings;
  for (const std::uint64_t key : finding_order_) {
    const auto found = findings_.find(key);
    if (found == findings_.end()) continue;
    const auto& [event, owner] = found->second;
    if (event.time_ns() >= since_ns && may_see(sight, owner)) findings.push_back(*event.get_if<Finding>());
  }
  return findings;
}

}  // namespace tracer::internal
