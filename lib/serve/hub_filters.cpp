// SPDX-License-Identifier: Apache-2.0
// Viewers with a filter: who shares one, and how one goes on.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/random.hpp"
#include "protocol/messages.hpp"
#include "serve/hub.hpp"

namespace tracer::internal {
namespace {

FilterEvaluator evaluator_of(const Filter& filter) {
  // No kernel decides for a client, and labels of rules are given by attach and announce.
  return FilterEvaluator(filter, false, false);
}

/// Exact in JSON, wherever that is read; never 0.
std::uint64_t random_id() { return (random_number() >> 12) + 1; }

}  // namespace

Hub::Place* Hub::find_filtered(const Sight& sight, std::uint64_t stream) {
  for (auto each = viewers_.upper_bound({sight, 0}); each != viewers_.end() && each->first.sight == sight; ++each)
    if (each->second.filtered->streams.contains(stream)) return &*each;
  return nullptr;
}

Hub::Place& Hub::require_filtered(const Sight& sight, std::uint64_t stream) {
  if (Place* const found = find_filtered(sight, stream)) return *found;
  throw Error({ErrorCode::kInvalidArgument,
               0,
               fmt::format("there is no stream {} any more", stream),
               "subscribe with the filter, without stream and from",
               {}});
}

Hub::Place& Hub::make_filtered(const Sight& sight, std::uint64_t id, Filtered filtered) {
  Place& place = viewer({sight, id});
  place.second.filtered = std::make_unique<Filtered>(std::move(filtered));
  return place;
}

Hub::Place& Hub::filtered_by(const Sight& sight, const Filter& filter, std::span<const Event> living) {
  const std::string rules = text_of(filter);
  for (auto each = viewers_.upper_bound({sight, 0}); each != viewers_.end() && each->first.sight == sight; ++each)
    if (each->second.filtered->shared && each->second.filtered->rules == rules) return *each;
  make_room_for_filtered(sight);
  Place& place =
      make_filtered(sight, random_id(),
                    Filtered{.rules = rules, .filter = ReplayFilter(evaluator_of(filter), Filtered::kMostProcesses)});
  std::vector<Event> passed;
  for_events_of(sight, living, [&](const Event& event) { place.second.filtered->filter.apply(event, passed); });
  return place;
}

/// Those without a client go first, the longest left of them before others.
void Hub::make_room_for_filtered(const Sight& sight) {
  std::size_t count = 0;
  auto oldest = viewers_.end();
  Clock::time_point left{};
  for (auto each = viewers_.upper_bound({sight, 0}); each != viewers_.end() && each->first.sight == sight; ++each) {
    ++count;
    const auto& views = each->second.views;
    const bool is_used =
        std::any_of(views.begin(), views.end(), [](const auto& v) { return !v.second.outboxes.empty(); });
    if (is_used) continue;
    Clock::time_point last{};
    for (const auto& [kinds, view] : views) last = std::max(last, view.left);
    if (oldest != viewers_.end() && last >= left) continue;
    oldest = each;
    left = last;
  }
  if (count < ServeLimits::kFiltersOfUser) return;
  if (oldest != viewers_.end()) {
    forget(oldest);
  } else if (!sight.all) {
    throw Error({ErrorCode::kServiceRefused, 0, "too many filters of your user", "end some subscriptions", {}});
  }
}

Hub::Viewers::iterator Hub::forget(Viewers::iterator viewer) {
  for (const auto& [kinds, view] : viewer->second.views) kept_bytes_ -= view.recent_bytes;
  const ViewerKey& key = viewer->first;
  std::erase(viewers_of_all_, &*viewer);
  for (const uid_t owner : key.sight.owners) std::erase(viewers_of_owner_[owner], &*viewer);
  changed_.erase(key);
  return viewers_.erase(viewer);
}

std::uint64_t Hub::enter_stream(Filtered& filtered, const Outbox& outbox, std::optional<std::uint64_t> stream) {
  const std::uint64_t id = stream.value_or(random_id());
  filtered.streams[id] = {&outbox, {}, outbox.uid()};
  const auto has_left = [](const auto& each) { return each.second.outbox == nullptr; };
  const auto left = std::count_if(filtered.streams.begin(), filtered.streams.end(), has_left);
  if (static_cast<std::size_t>(left) <= Filtered::kMostLeft) return id;
  filtered.streams.erase(
      std::min_element(filtered.streams.begin(), filtered.streams.end(), [&](const auto& one, const auto& other) {
        return has_left(one) && (!has_left(other) || one.second.left < other.second.left);
      }));
  return id;
}

Hub::Place& Hub::part(Place& place, std::uint64_t stream, Clock::time_point now) {
  Viewer& before = place.second;
  Filtered& all = *before.filtered;
  const Outbox* const outbox = all.streams.at(stream).outbox;
  Place& own = make_filtered(place.first.sight, random_id(), all);
  Viewer& viewer = own.second;
  viewer.last = before.last;
  viewer.samples = before.samples;
  viewer.started = before.started;
  viewer.ended = before.ended;
  viewer.filtered->streams = {{stream, all.streams.at(stream)}};
  all.streams.erase(stream);
  for (auto& [kinds, view] : before.views) {
    const auto has_it = [outbox](const Outbox* each) { return each == outbox; };
    const auto found = std::find_if(view.outboxes.begin(), view.outboxes.end(), has_it);
    // What is kept of all kinds is also for a client that comes back.
    if (found == view.outboxes.end() && !kinds.empty()) continue;
    View& copy = viewer.views[kinds];
    copy.kinds = kinds;
    copy.left = now;
    copy.recent = view.recent;
    copy.recent_bytes = view.recent_bytes;
    kept_bytes_ += copy.recent_bytes;
    if (found == view.outboxes.end()) continue;
    copy.outboxes.insert(*found);
    view.outboxes.erase(found);
    view.left = now;
  }
  // Should that have been the last one of a view, or the copy have none.
  next_tick_ = next_tick_ ? std::min(*next_tick_, now) : now;
  changed_.insert(place.first);
  return own;
}

void Hub::follow(const Sight& sight, std::uint64_t stream, std::uint32_t pid, std::uint64_t time_ns,
                 Clock::time_point now) {
  Place* place = find_filtered(sight, stream);
  if (place == nullptr || place->second.filtered->filter.follows(pid)) return;
  close_frames(place->second);
  if (place->second.filtered->streams.size() > 1) place = &part(*place, stream, now);
  Filtered& filtered = *place->second.filtered;
  filtered.shared = false;
  std::vector<Event> taken;
  filtered.filter.follow(pid, time_ns, taken);
  for (const Event& each : taken) give_numbered(*place, each, now);
  changed_.insert(place->first);
}

/// To look at the clock takes as long as most filters do: one time stands for several.
void Hub::evaluate(Filtered& filtered, const Event& event) {
  constexpr std::uint64_t kPerMeasured = 16;
  const bool measures = filtered.evaluations++ % kPerMeasured == 0;
  const auto before = measures ? cpu_time_of_this_thread() : CpuShares::Time(0);
  filtered.filter.apply(event, passed_);
  if (!measures || filtered.streams.empty()) return;
  const auto used = (cpu_time_of_this_thread() - before) * kPerMeasured / filtered.streams.size();
  for (const auto& [stream, client] : filtered.streams) used_[client.payer] += used;
}

std::vector<Outbox*> Hub::end_filters(const std::function<bool(uid_t)>& is_meant) {
  std::vector<Outbox*> ended;
  for (auto place = viewers_.begin(); place != viewers_.end();) {
    Viewer& viewer = place->second;
    if (!viewer.filtered) {
      ++place;
      continue;
    }
    std::erase_if(viewer.filtered->streams, [&](const auto& each) { return is_meant(each.second.payer); });
    for (auto& [kinds, view] : viewer.views)
      std::erase_if(view.outboxes, [&](Outbox* outbox) {
        const bool is_over = is_meant(outbox->uid());
        if (is_over) ended.push_back(outbox);
        return is_over;
      });
    place = viewer.filtered->streams.empty() ? forget(place) : std::next(place);
  }
  for (Outbox* const outbox : ended) filled_.erase(outbox);
  return ended;
}

bool Hub::restore(const RecentEvents::Viewer& left, Clock::time_point now) {
  const KeptFilter& kept = *left.filtered;
  if (kept.id == 0) return false;
  try {
    Filtered filtered{
        .rules = kept.rules,
        .shared = kept.shared,
        .filter = ReplayFilter(evaluator_of(filter_from(kept.rules)), Filtered::kMostProcesses, kept.decided)};
    for (const std::uint64_t stream : kept.streams) filtered.streams[stream] = {nullptr, now};
    make_filtered(left.sight, kept.id, std::move(filtered));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tracer::internal
