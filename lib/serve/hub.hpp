// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/filter.hpp>
#include <tracer/finding.hpp>
#include <tracer/host.hpp>

#include "base/cpu_shares.hpp"
#include "serve/event_frame.hpp"
#include "serve/filtered.hpp"
#include "serve/for_others.hpp"
#include "serve/limits.hpp"
#include "serve/outbox.hpp"
#include "serve/ownership.hpp"
#include "serve/sight.hpp"
#include "serve/recent_events.hpp"
#include "report/state_tables.hpp"

namespace tracer::internal {

/// The cause of what the service's own queue dropped.
inline constexpr std::string_view kServiceQueueFull = "service_queue_full";

/// Gives each event to those who may see it. Events are numbered by sight and filter, and encoded once for all clients
/// of equal sight, filter and kinds. Of a sight that nobody has for a while, only the numbers stay; of a filter,
/// nothing. One thread.
class Hub {
 public:
  using Clock = std::chrono::steady_clock;
  /// A frame is closed at the latest so long after its first event.
  static constexpr std::chrono::milliseconds kLongestOpen{100};
  /// What waits to be encoded for one view.
  static constexpr std::size_t kMostOpenEvents = 4096;
  static constexpr std::size_t kMostOpenBytes = 1u << 20;

  /// `accounts`: that kept findings and the rows of the state are charged to.
  Hub(HostInfo host, ServeLimits limits, Ownership ownership,
      const std::shared_ptr<Accounts>& accounts = std::make_shared<Accounts>());

  /// From now on, `take` gets each event once, as its owner sees it; what is root's or nobody's as of user 0, whole.
  /// What is everybody's it gets for each owner that has had an event.
  using TakeOfOwner = std::function<void(uid_t owner, const Event& event)>;
  void take_by_owner(TakeOfOwner take) { take_of_owner_ = std::move(take); }
  /// What lives, likewise.
  std::map<uid_t, std::vector<Event>> by_owner(std::span<const Event> living) const;

  void deliver(std::span<const Event> events, Clock::time_point now);
  /// The event as it is delivered, and whose it is. In the order of events.
  RecentEvents::Judged judged(const Event& event);
  void deliver(const RecentEvents::Judged& judged, Clock::time_point now);
  /// For the state alone: an earlier process has delivered it.
  void begin_with(const Event& event);

  /// As of now.
  std::vector<RecentEvents::Viewer> viewers() const;
  /// Likewise those that have come or changed in another way than by events since the last call.
  std::vector<RecentEvents::Viewer> take_changed();
  /// One that an earlier process had; what it sees is kept for its clients.
  void add(const RecentEvents::Viewer& viewer, Clock::time_point now);
  /// Closes frames whose time has come; forgets what nobody has asked for for a while.
  void tick(Clock::time_point now);
  /// When tick() has something to do. Absent: only when events come.
  std::optional<Clock::time_point> next_tick() const noexcept { return next_tick_; }
  /// Closes the frames of this sight, filtered ones too: what it may see by now is with its clients.
  void close_frames(const Sight& sight);

  /// The number of the last event that this sight may see, in that filtered stream if one is named. Throws
  /// Error(kInvalidArgument): there is no such stream.
  std::uint64_t last_number(const Sight& sight, std::optional<std::uint64_t> stream = {});

  struct Joined {
    std::uint64_t sequence = 1;
    std::uint64_t missed = 0;
    std::uint64_t living = 0;
    std::optional<std::uint64_t> stream = {};  ///< Of a filtered one.
  };
  struct Wish {
    std::set<EventKind> kinds = {};
    std::optional<std::uint64_t> from = {};
    bool living_first = false;
    Filter filter = {};
    std::optional<std::uint64_t> stream = {};
  };
  /// `outbox` gets events from now on: those of `kinds`, and each Loss and SessionEnd; empty: all. First what lives of
  /// `living`, or the events from number `from` on that are still kept. `outbox` must leave before it ends. Throws
  /// Error(kInvalidArgument): there is no such number yet.
  Joined join(Outbox& outbox, const Sight& sight, std::set<EventKind> kinds, std::span<const Event> living,
              std::optional<std::uint64_t> from, Clock::time_point now) {
    return join(outbox, sight, Wish{.kinds = std::move(kinds), .from = from, .living_first = true}, living, now);
  }
  /// Likewise, of what the filter takes in. `living`: also where the client does not want it, as a filter begins with
  /// it. With `stream`, an earlier one goes on. Throws also Error: kInvalidArgument (there is no such stream),
  /// kServiceRefused (too many filters).
  Joined join(Outbox& outbox, const Sight& sight, const Wish& wish, std::span<const Event> living,
              Clock::time_point now);
  /// Throws Error(kInvalidArgument): there is no such filtered stream.
  void require_stream(const Sight& sight, std::uint64_t stream) { require_filtered(sight, stream); }
  /// The filter of a stream takes in a process and its descendants from now on, for this stream alone. Does nothing if
  /// there is no such stream.
  void follow(const Sight& sight, std::uint64_t stream, std::uint32_t pid, std::uint64_t time_ns,
              Clock::time_point now);
  void leave(Outbox& outbox, Clock::time_point now) noexcept;
  /// CPU time that filters have taken since the last call, by the users whose clients have them: those of one that
  /// several share pay equal parts.
  std::map<uid_t, CpuShares::Time> take_used() { return std::exchange(used_, {}); }
  /// Ends the filtered streams of these users. Returns the outboxes that had them, which get nothing more.
  std::vector<Outbox*> end_filters(const std::function<bool(uid_t)>& is_meant);

  /// The last state of those that this sight may see.
  std::vector<Finding> findings(const Sight& sight, std::uint64_t since_ns) const {
    return state_->findings(since_ns, sight.all ? std::nullopt : std::optional(sight.owners));
  }
  void take_failures(StateTables::TakeFailure take) { state_->take_failures(std::move(take)); }
  /// Of what was delivered. Any thread.
  std::shared_ptr<const StateTables> state() const noexcept { return state_; }
  /// Those that clients have, or had lately.
  std::size_t views() const noexcept;
  const Ownership& ownership() const noexcept { return ownership_; }
  /// Outboxes that have got something since the last call.
  std::set<Outbox*> take_filled() { return std::exchange(filled_, {}); }

 private:
  /// Clients of equal sight and kinds.
  struct View {
    bool wants(EventKind kind) const noexcept {
      return kinds.empty() || kind == EventKind::kLoss || kind == EventKind::kSessionEnd || kinds.contains(kind);
    }
    std::set<EventKind> kinds;
    std::vector<std::pair<Event, std::uint64_t>> open;  ///< With their numbers: not encoded yet.
    std::size_t open_bytes = 0;
    Clock::time_point open_since;  ///< Where it has any.
    std::set<Outbox*> outboxes;
    Clock::time_point left;          ///< When the last of them left.
    std::deque<SharedFrame> recent;  ///< Only with all kinds.
    std::size_t recent_bytes = 0;
  };
  struct ViewerKey {
    Sight sight;
    std::uint64_t filtered = 0;  ///< Which of those with a filter; 0: without one.

    auto operator<=>(const ViewerKey&) const = default;
  };
  /// A sight is counted also while nobody looks, so that whoever comes back knows how much was missed.
  struct Viewer {
    std::uint64_t last = 0;
    std::uint64_t samples = 0;  ///< Processes of the present snapshot.
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::map<std::set<EventKind>, View> views;
    std::unique_ptr<Filtered> filtered = {};  ///< Null: without a filter.
    bool is_taken = false;                    ///< By take_by_owner().
  };

  using Viewers = std::map<ViewerKey, Viewer>;
  using Place = Viewers::value_type;

  Place& viewer(const ViewerKey& key);
  /// Its events are taken from now on.
  void begin_to_take(uid_t owner);
  RecentEvents::Viewer as_kept(const Place& place) const;
  /// Those that may see what is this owner's.
  template <class F>
  void for_viewers_of(const Owner& owner, F&& f);
  void give(Place& place, const Event& event, Clock::time_point now);
  void evaluate(Filtered& filtered, const Event& event);
  void give_numbered(Place& place, const Event& event, Clock::time_point now);
  Event as_seen(const Place& place, const Event& event) const;
  void put(View& view, const Event& event, std::uint64_t number, Clock::time_point now);
  void hand_out(View& view, std::vector<SharedFrame>& done);
  void close(View& view);
  void forget_oldest(View& view);
  View* holds_most();
  void replay(Outbox& outbox, const View* all, const std::set<EventKind>& kinds, std::uint64_t from, Joined& joined);
  /// Calls `f` with those that the sight may see, as it sees them.
  void for_events_of(const Sight& sight, std::span<const Event> events, const std::function<void(const Event&)>& f);
  void close_frames(Viewer& viewer);

  // Of filtered viewers, in hub_filters.cpp.
  /// Null: there is none.
  Place* find_filtered(const Sight& sight, std::uint64_t stream);
  Place& require_filtered(const Sight& sight, std::uint64_t stream);
  /// The one that clients with equal filters share.
  Place& filtered_by(const Sight& sight, const Filter& filter, std::span<const Event> living);
  Place& make_filtered(const Sight& sight, std::uint64_t id, Filtered filtered);
  void make_room_for_filtered(const Sight& sight);
  /// A copy of it for one of its streams.
  Place& part(Place& place, std::uint64_t stream, Clock::time_point now);
  std::uint64_t enter_stream(Filtered& filtered, const Outbox& outbox, std::optional<std::uint64_t> stream);
  Viewers::iterator forget(Viewers::iterator viewer);
  /// False: it is damaged.
  bool restore(const RecentEvents::Viewer& left, Clock::time_point now);

  const HostInfo host_;
  const ServeLimits limits_;
  Ownership ownership_;
  /// Of one frame at a time, for whichever view, as it takes much memory. Null: make one.
  std::unique_ptr<FrameMaker> maker_;
  Viewers viewers_;
  std::unordered_map<uid_t, std::vector<Place*>> viewers_of_owner_;
  std::vector<Place*> viewers_of_all_;
  TakeOfOwner take_of_owner_;    ///< Empty: nobody takes them.
  std::set<uid_t> taken_;        ///< Owners that have had an event.
  std::set<ViewerKey> changed_;  ///< Since take_changed().
  const std::shared_ptr<StateTables> state_;
  std::vector<Event> passed_;              ///< By one filter, of one event.
  std::map<uid_t, CpuShares::Time> used_;  ///< Since take_used().
  std::set<Outbox*> filled_;
  std::size_t kept_bytes_ = 0;  ///< Of recent frames of all.
  std::optional<Clock::time_point> next_tick_;
};

}  // namespace tracer::internal
