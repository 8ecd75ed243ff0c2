// SPDX-License-Identifier: Apache-2.0
#include "serve/hub.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/random.hpp"
#include "dispatch/queue_state.hpp"
#include "serve/for_others.hpp"

namespace tracer::internal {

/// For rows of what is over, and half as much for findings.
constexpr std::size_t kMostBytesOfState = 4u << 20;

Hub::Hub(HostInfo host, ServeLimits limits, Ownership ownership, const std::shared_ptr<Accounts>& accounts)
    : host_(std::move(host)),
      limits_(limits),
      ownership_(std::move(ownership)),
      state_(std::make_shared<StateTables>(to_string(Key{random_number()}), accounts, false, kMostBytesOfState)) {}

Hub::Place& Hub::viewer(const ViewerKey& key) {
  const auto [found, fresh] = viewers_.try_emplace(key);
  if (!fresh) return *found;
  changed_.insert(key);
  if (key.sight.all) viewers_of_all_.push_back(&*found);
  for (const uid_t owner : key.sight.owners) viewers_of_owner_[owner].push_back(&*found);
  return *found;
}

template <class F>
void Hub::for_viewers_of(const Owner& owner, F&& f) {
  const auto give_to = [&](Place& each) {
    if (may_see(each.first.sight, owner)) f(each);
  };
  if (owner.audience == Audience::kEverybody) {
    for (auto& each : viewers_) give_to(each);
    return;
  }
  for (auto* const each : viewers_of_all_) give_to(*each);
  if (const auto found = viewers_of_owner_.find(owner.uid); found != viewers_of_owner_.end())
    for (auto* const each : found->second) give_to(*each);
}

std::size_t Hub::views() const noexcept {
  std::size_t count = 0;
  for (const auto& [key, viewer] : viewers_) count += viewer.views.size();
  return count;
}

/// What says something of all is said of the viewer's own alone.
Event Hub::as_seen(const Place& place, const Event& event) const {
  const Viewer& viewer = place.second;
  if (place.first.sight.all && !viewer.filtered) return event;
  if (const auto* end = event.get_if<SnapshotEnd>()) {
    SnapshotEnd own = *end;
    own.processes = viewer.samples;
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
  return event;
}

namespace {

/// Equal for copies of one handle.
const void* body_of(const Event& event) {
  const void* place = nullptr;
  visit([&place](const auto& body) { place = &body; }, event);
  return place;
}

/// A client's own "queue_full" stands for events that have numbers: what the service itself has lost has none.
Event numbered(const Event& event) {
  const auto* loss = event.get_if<Loss>();
  if (loss == nullptr || loss->cause != kQueueFull) return event;
  Loss of_service = *loss;
  of_service.cause = kServiceQueueFull;
  return of_service;
}

}  // namespace

void Hub::deliver(std::span<const Event> events, Clock::time_point now) {
  for (const Event& event : events) deliver(judged(event), now);
}

RecentEvents::Judged Hub::judged(const Event& event) {
  RecentEvents::Judged judged{numbered(event), {}, false};
  judged.owner = ownership_.owner_of(judged.event);
  judged.changed_user = ownership_.changed_user();
  return judged;
}

void Hub::deliver(const RecentEvents::Judged& judged, Clock::time_point now) {
  const Event& event = judged.event;
  const Owner& owner = judged.owner;
  const Event masked = for_owner(event, owner, judged.changed_user, ownership_);
  const auto uid = owner.audience == Audience::kOwner ? std::optional(owner.uid) : std::nullopt;
  state_->add(event, uid, body_of(masked) == body_of(event) ? nullptr : &masked);
  if (take_of_owner_ && owner.audience != Audience::kEverybody) begin_to_take(owner.uid);
  // Of the viewers of user 0's there is one: what is taken for root.
  for_viewers_of(owner,
                 [&](Place& place) { give(place, place.first.sight.all || owner.uid == 0 ? event : masked, now); });
}

void Hub::begin_to_take(uid_t owner) {
  if (taken_.insert(owner).second) viewer({Sight{.owners = {owner}}, 0}).second.is_taken = true;
}

std::map<uid_t, std::vector<Event>> Hub::by_owner(std::span<const Event> living) const {
  std::map<uid_t, std::vector<Event>> events;
  for (const Event& event : living) {
    const Owner owner = ownership_.owner_of_living(event);
    events[owner.uid].push_back(owner.uid == 0 ? event : for_owner(event, owner, false, ownership_));
  }
  return events;
}

void Hub::begin_with(const Event& event) {
  const Owner owner = judged(event).owner;
  const auto uid = owner.audience == Audience::kOwner ? std::optional(owner.uid) : std::nullopt;
  state_->add(event, uid);
}

std::vector<RecentEvents::Viewer> Hub::viewers() const {
  std::vector<RecentEvents::Viewer> viewers;
  for (const Place& each : viewers_) viewers.push_back(as_kept(each));
  return viewers;
}

std::vector<RecentEvents::Viewer> Hub::take_changed() {
  std::vector<RecentEvents::Viewer> viewers;
  for (const ViewerKey& key : std::exchange(changed_, {}))
    if (const auto found = viewers_.find(key); found != viewers_.end()) viewers.push_back(as_kept(*found));
  return viewers;
}

RecentEvents::Viewer Hub::as_kept(const Place& place) const {
  const Viewer& viewer = place.second;
  RecentEvents::Viewer kept{place.first.sight, viewer.last, viewer.samples, viewer.started, viewer.ended};
  if (!viewer.filtered) return kept;
  const Filtered& filtered = *viewer.filtered;
  kept.filtered = {place.first.filtered, filtered.shared, filtered.rules, {}, filtered.filter.decided()};
  for (const auto& [stream, client] : filtered.streams) kept.filtered->streams.push_back(stream);
  return kept;
}

void Hub::add(const RecentEvents::Viewer& left, Clock::time_point now) {
  if (left.filtered && !restore(left, now)) return;
  if (take_of_owner_ && !left.filtered && left.sight.owners.size() == 1) begin_to_take(left.sight.owners.front());
  Viewer& viewer = this->viewer({left.sight, left.filtered ? left.filtered->id : 0}).second;
  viewer.last = left.last;
  viewer.samples = left.samples;
  viewer.started = left.started;
  viewer.ended = left.ended;
  viewer.views[{}].left = now;
}

void Hub::give(Place& place, const Event& event, Clock::time_point now) {
  Filtered* const filtered = place.second.filtered.get();
  if (filtered == nullptr) return give_numbered(place, event, now);
  const std::uint64_t forgotten = filtered->filter.forgotten();
  passed_.clear();
  evaluate(*filtered, event);
  if (filtered->filter.forgotten() != forgotten) {
    Loss loss;
    loss.time_ns = event.time_ns();
    loss.cause = "process_forgotten";
    loss.count = filtered->filter.forgotten() - forgotten;
    passed_.emplace_back(std::move(loss));
  }
  for (const Event& each : passed_) give_numbered(place, each, now);
}

void Hub::give_numbered(Place& place, const Event& event, Clock::time_point now) {
  Viewer& viewer = place.second;
  const std::uint64_t number = ++viewer.last;
  if (event.kind() == EventKind::kProcessSample) ++viewer.samples;
  if (const auto* sample = event.get_if<ToolSample>()) viewer.samples += sample->processes;
  if (event.kind() == EventKind::kProcessStart) ++viewer.started;
  if (event.kind() == EventKind::kProcessExit) ++viewer.ended;
  if (!viewer.views.empty() || viewer.is_taken) {
    const Event seen = as_seen(place, event);
    if (viewer.is_taken) take_of_owner_(place.first.sight.owners.front(), seen);
    for (auto& [kinds, view] : viewer.views)
      if (view.wants(seen.kind())) put(view, seen, number, now);
  }
  if (event.kind() == EventKind::kSnapshotEnd) viewer.samples = 0;
}

void Hub::put(View& view, const Event& event, std::uint64_t number, Clock::time_point now) {
  if (view.open.empty()) view.open_since = now;
  view.open.emplace_back(event, number);
  view.open_bytes += event.charge_bytes();
  if (view.open.size() >= kMostOpenEvents || view.open_bytes >= kMostOpenBytes) return close(view);
  const auto due = view.open_since + kLongestOpen;
  if (!next_tick_ || due < *next_tick_) next_tick_ = due;
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
  for (auto& [key, viewer] : viewers_)
    for (auto& [kinds, view] : viewer.views)
      if (!view.recent.empty() && (most == nullptr || view.recent_bytes > most->recent_bytes)) most = &view;
  return most;
}

void Hub::close(View& view) {
  if (view.open.empty()) return;
  std::vector<SharedFrame> done;
  view.open_bytes = 0;
  const auto open = std::exchange(view.open, {});
  // Should memory run out, what it has got must not come to another view.
  auto maker = maker_ ? std::move(maker_) : std::make_unique<FrameMaker>(host_);
  for (const auto& [event, number] : open) maker->append(event, number, done);
  maker->close(done);
  maker_ = std::move(maker);
  hand_out(view, done);
}

void Hub::close_frames(Viewer& viewer) {
  for (auto& [kinds, view] : viewer.views) close(view);
}

void Hub::close_frames(const Sight& sight) {
  for (auto each = viewers_.lower_bound({sight, 0}); each != viewers_.end() && each->first.sight == sight; ++each)
    close_frames(each->second);
}

std::uint64_t Hub::last_number(const Sight& sight, std::optional<std::uint64_t> stream) {
  return (stream ? require_filtered(sight, *stream) : viewer({sight, 0})).second.last;
}

void Hub::tick(Clock::time_point now) {
  next_tick_.reset();
  const auto due_at = [this](Clock::time_point due) {
    if (!next_tick_ || due < *next_tick_) next_tick_ = due;
  };
  for (auto place = viewers_.begin(); place != viewers_.end();) {
    Viewer& viewer = place->second;
    for (auto each = viewer.views.begin(); each != viewer.views.end();) {
      View& view = each->second;
      if (!view.open.empty() && now - view.open_since >= kLongestOpen) close(view);
      if (!view.open.empty()) due_at(view.open_since + kLongestOpen);
      const bool unused = view.outboxes.empty();
      if (unused && (!view.kinds.empty() || now - view.left >= limits_.kept_without_clients)) {
        kept_bytes_ -= view.recent_bytes;
        each = viewer.views.erase(each);
        continue;
      }
      if (unused) due_at(view.left + limits_.kept_without_clients);
      ++each;
    }
    place = viewer.filtered && viewer.views.empty() ? forget(place) : std::next(place);
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

void Hub::for_events_of(const Sight& sight, std::span<const Event> events, const std::function<void(const Event&)>& f) {
  for (const Event& event : events) {
    const Owner owner = ownership_.owner_of(event);
    if (may_see(sight, owner)) f(sight.all ? event : for_owner(event, owner, ownership_));
  }
}

Hub::Joined Hub::join(Outbox& outbox, const Sight& sight, const Wish& wish, std::span<const Event> living,
                      Clock::time_point now) {
  const bool is_filtered = wish.stream || !wish.filter.rules().empty();
  if (is_filtered && wish.stream.has_value() != wish.from.has_value())
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "numbers of a filter are those of a stream",
                 "give both stream and from, or neither of them",
                 {}});
  Place& place = wish.stream   ? require_filtered(sight, *wish.stream)
                 : is_filtered ? filtered_by(sight, wish.filter, living)
                               : viewer({sight, 0});
  Viewer& viewer = place.second;
  Filtered* const filtered = viewer.filtered.get();
  const auto& from = wish.from;
  if (from && (*from == 0 || *from > viewer.last + 1))
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 fmt::format("there is no event {} yet: the last one is {}", *from, viewer.last),
                 "give a number of this session, or none",
                 {}});
  View& view = viewer.views[wish.kinds];
  view.kinds = wish.kinds;
  // It begins with the next frame, in which nothing is that it gets otherwise.
  close_frames(viewer);
  Joined joined{.sequence = viewer.last + 1};
  if (filtered != nullptr) {
    joined.stream = enter_stream(*filtered, outbox, wish.stream);
    changed_.insert(place.first);
  }
  if (from) {
    const auto all = viewer.views.find({});
    replay(outbox, all == viewer.views.end() ? nullptr : &all->second, wish.kinds, *from, joined);
  } else if (wish.living_first && !living.empty()) {
    std::vector<SharedFrame> frames;
    FrameMaker maker(host_);
    for_events_of(sight, living, [&](const Event& event) {
      if (!view.wants(event.kind()) || (filtered != nullptr && !filtered->filter.has_taken(event))) return;
      maker.append(event, 0, frames);
      ++joined.living;
    });
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
  for (auto& [key, viewer] : viewers_) {
    for (auto& [kinds, view] : viewer.views) {
      if (view.outboxes.erase(&outbox) == 0) continue;
      view.left = now;
      if (!next_tick_) next_tick_ = now;
    }
    if (!viewer.filtered) continue;
    for (auto& [stream, client] : viewer.filtered->streams)
      if (client.outbox == &outbox) client = {nullptr, now, client.payer};
  }
}

}  // namespace tracer::internal
