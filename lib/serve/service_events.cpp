// SPDX-License-Identifier: Apache-2.0
// How a service delivers events: as they come, or in whole rounds, each of which is kept first.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "serve/restart_keeping.hpp"
#include "serve/service.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostAtOnce = 1024;
/// There are many of them.
constexpr std::size_t kQueueBytesOfOwner = 16u << 20;
constexpr std::size_t kMostInATurn = 16 * kMostAtOnce;

}  // namespace

void Service::take_mail() {
  const std::lock_guard lock(mail_->mutex);
  mail_->wakeup.clear();
  take_newcomers();
}

void Service::take_newcomers() {
  for (Newcomer& newcomer : mail_->newcomers) newcomers_.push_back(std::move(newcomer));
  mail_->newcomers.clear();
}

/// Before the session starts: what an earlier process delivered is there for clients that come back.
void Service::go_on() {
  Keeping& keeping = *options_.keeping;
  const auto now = Clock::now();
  if (const RecentEvents::Left* const left = keeping.left()) {
    for (const RecentEvents::Viewer& each : left->viewers) hub_.add(each, now);
    auto newcomer = left->newcomers.begin();
    for (std::size_t i = 0; i <= left->events.size(); ++i) {
      for (; newcomer != left->newcomers.end() && newcomer->first == i; ++newcomer) hub_.add(newcomer->second, now);
      if (i == left->events.size()) break;
      // Whose it is was decided by more than is known now; what that says of later ones is remembered.
      hub_.judged(left->events[i].event);
      hub_.deliver(left->events[i], now);
    }
    hub_.take_changed();
    for (const auto& [id, process] : left->living)
      hub_.judged(ProcessStart{process.process->start_ns, process.process, process.attached_ns});
    for (const Event& event : reader_->submitted()) hub_.begin_with(event);
  }
  before_ = keeping.spool().next() - 1;
  reader_->when_delivered([mail = mail_, queue = queue_, reader = reader_.get(), &keeping, before = before_,
                           last = RoundEnd()](std::vector<std::uint64_t> given) mutable {
    constexpr double kMostUnreleased = 0.5;
    const std::uint64_t pushed = queue->pushed();
    if (pushed == last.pushed && given == last.given) return;
    last = {pushed, given};
    // Rather than that the ring fills: after a kill, what is here alone would be missed, and counted.
    if (reader->kernel_side()->unreleased_share() > kMostUnreleased) {
      keeping.spool().note_released(before + pushed);
      reader->kernel_side()->release(given);
    }
    const std::lock_guard lock(mail->mutex);
    if (!mail->rounds.empty() && mail->rounds.back().pushed == pushed) {
      mail->rounds.back().given = std::move(given);
    } else {
      mail->rounds.push_back({pushed, std::move(given)});
      mail->wakeup.set();
    }
  });
}

void Service::keep_viewers() {
  const std::vector<RecentEvents::Viewer> changed = hub_.take_changed();
  if (options_.keeping && !changed.empty())
    options_.keeping->spool().append(changed, [this] { return hub_.viewers(); });
}

void Service::deliver(const RecentEvents::Judged& judged, Clock::time_point now) {
  // Whose it is, before what is told of a failure.
  usage_.add(judged.event, judged.owner.uid);
  hub_.deliver(judged, now);
}

void Service::deliver_round(const std::vector<std::uint64_t>& given) {
  Keeping* const keeping = options_.keeping.get();
  if (keeping == nullptr) return;
  const auto now = Clock::now();
  keep_viewers();
  if (!round_.empty()) {
    std::vector<RecentEvents::Judged> judged;
    judged.reserve(round_.size());
    for (const Event& event : round_) judged.push_back(hub_.judged(event));
    const bool is_kept = keeping->spool().append(judged, {keeping->side(), given}, [this] { return hub_.viewers(); });
    // What the queue has dropped has had its numbers, too.
    keeping->spool().go_to(before_ + taken_ + 1);
    if (!is_kept) keeping->spool().note_released(before_ + taken_);
    for (const RecentEvents::Judged& each : judged) {
      if (const auto* submit = each.event.get_if<TaskSubmit>()) keeping->said().told(*submit);
      deliver(each, now);
    }
    feed_sinks(round_);
    feed_owners();
    round_.clear();
  }
  if (!given.empty()) reader_->kernel_side()->release(given);
  if (!keeping->spool().wants_living() || asked_living_) return;
  asked_living_ = true;
  with_living([this, keeping](std::span<const Event> living) {
    asked_living_ = false;
    keeping->spool().keep_living(living);
  });
}

void Service::with_living(Meet meet) { ask_living({.meet = std::move(meet)}); }

void Service::ask_living(Newcomer newcomer) {
  reader_->tell_living(
      [mail = mail_, queue = queue_, newcomer = std::move(newcomer)](std::span<const Event> living) mutable {
        newcomer.position = queue->pushed();
        newcomer.living.assign(living.begin(), living.end());
        const std::lock_guard lock(mail->mutex);
        mail->newcomers.push_back(std::move(newcomer));
        mail->wakeup.set();
      });
}

void Service::feed_sinks(std::span<const Event> events) {
  for (const auto& sink : sinks_) sink->queue()->push(events, false);
}

void Service::feed_owners() {
  if (!meet_owner_) return;
  for (auto& [uid, owner] : owners_) {
    if (owner.events.empty()) continue;
    if (!std::exchange(owner.met, true)) meet_owner_(uid, std::nullopt);
    if (owner.sink && !owner.sink->closed()) owner.sink->queue()->push(owner.events, false);
    owner.events.clear();
  }
}

/// Those whose place has come. Returns how many events are before the next one's.
std::uint64_t Service::welcome_newcomers() {
  std::uint64_t events = std::numeric_limits<std::uint64_t>::max();
  for (auto each = newcomers_.begin(); each != newcomers_.end();) {
    if (each->position > taken_) {
      events = std::min(events, each->position - taken_);
      ++each;
      continue;
    }
    Newcomer newcomer = std::move(*each);
    each = newcomers_.erase(each);
    welcome(newcomer);
  }
  return events;
}

/// What its own queue has dropped, by whose it was.
void Service::note_lost(std::span<const Event> events) {
  for (const Event& event : events)
    if (const auto* loss = event.get_if<Loss>(); loss != nullptr && loss->cause == kQueueFull)
      charges_.note_lost(loss->uid.value_or(0), loss->count);
}

void Service::take_rounds() {
  std::vector<Event> events(kMostAtOnce);
  for (std::size_t all = 0; all < kMostInATurn;) {
    RoundEnd end;
    {
      const std::lock_guard lock(mail_->mutex);
      // Those who came with the round before have left their letter before this one ended.
      take_newcomers();
      while (!mail_->rounds.empty() && mail_->rounds.front().pushed <= taken_) {
        end = std::move(mail_->rounds.front());
        mail_->rounds.pop_front();
      }
      if (end.given.empty() && !mail_->rounds.empty()) end.pushed = mail_->rounds.front().pushed;
    }
    if (round_.empty()) welcome_newcomers();
    if (!end.given.empty()) {
      // Events may have been dropped beyond it: what is behind it belongs to the next.
      if (end.pushed == taken_ || round_.empty()) deliver_round(end.given);
      continue;
    }
    if (end.pushed == 0 && !finishing_) break;
    const std::size_t most = end.pushed == 0 ? kMostAtOnce : std::min<std::size_t>(kMostAtOnce, end.pushed - taken_);
    const std::size_t count = queue_->read(std::span(events).first(most), &taken_);
    if (count == 0) break;
    all += count;
    note_lost(std::span(events).first(count));
    for (std::size_t i = 0; i < count; ++i) round_.push_back(std::exchange(events[i], {}));
  }
  if (!queue_ended_ && queue_->ended()) queue_ended_ = true;
}

void Service::take_events() {
  if (options_.keeping) return take_rounds();
  std::vector<Event> events(kMostAtOnce);
  for (std::size_t all = 0; all < kMostInATurn;) {
    // Whoever joins before one of these events has left a letter before that event was pushed.
    const std::uint64_t pushed = queue_->pushed();
    take_mail();
    // Who joins in between two events gets what comes behind.
    const std::uint64_t most = std::min<std::uint64_t>(kMostAtOnce, welcome_newcomers());
    const std::size_t count =
        queue_->read(std::span(events).first(std::min(most, pushed - std::min(pushed, taken_))), &taken_);
    if (count == 0) break;
    all += count;
    note_lost(std::span(events).first(count));
    for (const Event& event : std::span(events).first(count)) deliver(hub_.judged(event), Clock::now());
    feed_sinks(std::span(events).first(count));
    feed_owners();
    for (std::size_t i = 0; i < count; ++i) events[i] = {};
  }
  if (!queue_ended_ && queue_->ended()) queue_ended_ = true;
}

void Service::welcome(Newcomer& newcomer) {
  if (newcomer.meet) return newcomer.meet(newcomer.living);
  const auto found = connections_.find(newcomer.connection);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  connection.busy = false;
  try {
    const SubscribeRequest& request = newcomer.request;
    const Hub::Wish wish{.kinds = std::set<EventKind>(request.kinds.begin(), request.kinds.end()),
                         .from = request.from,
                         .living_first = request.living_first,
                         .filter = request.filter,
                         .stream = request.stream};
    const Hub::Joined joined = hub_.join(*connection.stream, connection.sight, wish, newcomer.living, Clock::now());
    keep_viewers();
    reply(connection, to_line(SubscribeReply{joined.sequence, joined.missed, joined.living, joined.stream}));
  } catch (const Error& error) {
    streams_.erase(connection.stream.get());
    connection.stream.reset();
    charges_.give_back(connection.peer.uid, Charged::kSubscriptions, 1);
    refuse(connection, error);
  }
}

SinkHandle Service::add_sink(std::unique_ptr<Sink> sink, std::span<const Event> first) {
  auto runner = start_sink(std::move(sink), first, QueueOptions().capacity_bytes);
  std::erase_if(sinks_, [](const auto& each) { return each->closed(); });
  sinks_.push_back(runner);
  return SinkHandle(std::move(runner));
}

std::shared_ptr<SinkRunner> Service::start_sink(std::unique_ptr<Sink> sink, std::span<const Event> first,
                                                std::size_t capacity_bytes) {
  QueueOptions options{.capacity_bytes = capacity_bytes};
  for (const Event& event : first) options.capacity_bytes += event.charge_bytes();
  auto runner = SinkRunner::start(std::move(sink), std::move(options), owners_by(reader_->accounts()));
  if (!first.empty()) runner->queue()->push(first, false);
  return runner;
}

void Service::record_by_owner(Server::MeetOwner meet) {
  meet_owner_ = std::move(meet);
  for (auto& [uid, owner] : owners_) {
    owner.met = true;
    const std::vector<Event> left = std::exchange(owner.events, {});
    meet_owner_(uid, std::span<const Event>(left));
  }
}

SinkHandle Service::add_sink_of(uid_t owner, std::unique_ptr<Sink> sink, std::span<const Event> first) {
  OfOwner& of = owners_[owner];
  of.sink = start_sink(std::move(sink), first, kQueueBytesOfOwner);
  return SinkHandle(of.sink);
}

}  // namespace tracer::internal
