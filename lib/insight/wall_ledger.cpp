// SPDX-License-Identifier: Apache-2.0
#include "insight/wall_ledger.hpp"

#include <algorithm>
#include <numeric>

namespace tracer::internal {
namespace {

constexpr std::array<std::uint64_t TaskLedger::*, 13> kMembers = {
    &TaskLedger::queued_ns, &TaskLedger::throttled_ns, &TaskLedger::disk_ns, &TaskLedger::network_ns,
    &TaskLedger::pipe_ns, &TaskLedger::sleep_ns, &TaskLedger::poll_ns, &TaskLedger::memory_ns, &TaskLedger::stopped_ns,
    &TaskLedger::other_ns,
    // From here on: mostly for others of the task, so that it explains what nothing else does.
    &TaskLedger::local_socket_ns, &TaskLedger::lock_ns, &TaskLedger::pipe_ns};
constexpr std::size_t kOutside = 10;
/// Of these: what the kernel knows of all together; those that something ends that comes again and again; and the rest.
constexpr std::size_t kReady = 2;
constexpr std::size_t kSleep = 5;
constexpr std::size_t kPoll = 6;
constexpr std::size_t kOther = 9;
constexpr std::size_t kOutsidePipe = 4;
constexpr std::size_t kLocalSocket = 10;
/// What was waited for in so much of a time may be what all of it was for.
constexpr double kNearlyAll = 0.9;
/// Most pipes lead to others of the task: what nobody has used yet is taken for one of them.
constexpr std::size_t kCertain = 12;
/// Of a process that did not run: it may be what the others wait for.
constexpr double kLeastWeight = 0.01;

std::array<std::uint64_t, 13> causes_of(const ProcessLedger& ledger, PipePeers peers) {
  return {ledger.run_queue_ns,
          ledger.throttled_ns.value_or(0),
          ledger.disk_ns,
          ledger.network_ns,
          peers == PipePeers::kOutside ? ledger.pipe_ns : 0,
          ledger.sleep_ns,
          ledger.poll_ns,
          ledger.reclaim_ns + ledger.swap_ns,
          ledger.stopped_ns,
          ledger.other_ns,
          ledger.local_socket_ns,
          ledger.lock_ns,
          peers == PipePeers::kUnknown ? ledger.pipe_ns : 0};
}

/// As above, of all together: none of these was a wait for one of them.
std::array<std::uint64_t, 13> causes_of(const CountedSpan& span) {
  auto causes = causes_of(span.ledger, PipePeers::kOutside);
  causes[kOther] += span.ledger.child_ns;
  causes[kOther] -= std::min(causes[kOther], span.open_ns);
  return causes;
}

/// Of `rest` to causes `first` to `last`, by their weights, and to none more than was waited for it.
double share_by_weight(double rest, std::size_t first, std::size_t last, std::array<double, 13>& room,
                       const std::array<double, 13>& weights, std::array<double, 13>& shares) {
  for (std::size_t round = 0; round < last - first && rest > 0; ++round) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += room[i] > 0 ? weights[i] : 0;
    if (sum <= 0) break;
    double given = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (room[i] <= 0) continue;
      const double part = std::min(room[i], rest * weights[i] / sum);
      room[i] -= part;
      shares[i] += part;
      given += part;
    }
    if (given <= 0) break;
    rest -= given;
  }
  return rest;
}

}  // namespace

void WallLedger::add(const LifeSpan& span) {
  const std::uint64_t from_ns = std::max(span.from_ns, from_ns_);
  if (span.to_ns <= from_ns) return;
  const std::uint64_t length_ns = span.to_ns - from_ns;
  const std::uint64_t ran_ns = std::min(span.ledger.running_ns, length_ns);
  running_ns_ += ran_ns;
  one_after_another_.add(from_ns, span.to_ns, ran_ns);
  lived_.add(from_ns, span.to_ns, length_ns);
  const double weight = static_cast<double>(ran_ns) / static_cast<double>(length_ns) + kLeastWeight;
  const auto causes = causes_of(span.ledger, span.pipe_peers);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const auto waited = static_cast<double>(std::min(causes[i], length_ns));
    waited_[i] += waited;
    weights_[i] += weight * waited;
  }
}

void WallLedger::poll_was(PollCause cause, std::uint64_t at_ns, std::uint64_t part_ns) noexcept {
  const std::size_t to = cause == PollCause::kLocalSocket ? kLocalSocket : kOutsidePipe;
  if (at_ns <= from_ns_) {
    const auto given_ns =
        std::min(sums_.poll_ns, static_cast<std::uint64_t>(poll_given_ * static_cast<double>(part_ns)));
    sums_.poll_ns -= given_ns;
    sums_.*kMembers[to] += given_ns;
    return;
  }
  // Its window is still open.
  const double part = std::min(static_cast<double>(part_ns), waited_[kPoll]);
  if (part <= 0) return;
  const double weight = weights_[kPoll] * part / waited_[kPoll];
  waited_[kPoll] -= part, waited_[to] += part;
  weights_[kPoll] -= weight, weights_[to] += weight;
}

void WallLedger::count(const CountedSpan& span) { counted_ = span; }

void WallLedger::count_no_more() noexcept {
  counted_from_ns_.reset();
  counted_ = {};
}

/// While nothing computes, one of them is in the queue, or waits for what is no other of them.
void WallLedger::close(std::uint64_t to_ns) {
  if (to_ns <= from_ns_) return;
  const std::uint64_t wall_ns = to_ns - from_ns_;
  const double waited = std::accumulate(waited_.begin(), waited_.begin() + kCertain, 0.0);
  const auto lived = static_cast<double>(std::min(lived_.best(), wall_ns));
  std::uint64_t least_ns = std::max(one_after_another_.best(), running_ns_ / std::max(window_cpus_, 1U));
  if (lived > waited) least_ns = std::max(least_ns, static_cast<std::uint64_t>(lived - waited));
  std::uint64_t most_ns = std::min(running_ns_, wall_ns);
  least_ns = std::min(least_ns, most_ns);
  if (counted_from_ns_) {
    const std::uint64_t before_ns = std::min(*counted_from_ns_ - std::min(*counted_from_ns_, from_ns_), wall_ns);
    const std::uint64_t ran_ns = run_on_ns_ + counted_.ledger.running_ns;
    const std::uint64_t counted_ns = std::min(ran_ns, wall_ns - before_ns);
    run_on_ns_ = ran_ns - counted_ns;
    least_ns = before_ns == 0 ? counted_ns : std::max(least_ns, counted_ns);
    most_ns = std::max(least_ns, std::min({most_ns, counted_ns + before_ns + missed_ns_, wall_ns}));
  }
  sums_.computing_ns += least_ns;
  sums_.computing_at_most_ns += most_ns;
  sums_.wall_ns += wall_ns;
  share_out(wall_ns - least_ns);
  from_ns_ = to_ns;
  window_cpus_ = cpus_;
  running_ns_ = 0;
  one_after_another_.clear();
  lived_.clear();
  waited_.fill(0);
  weights_.fill(0);
  counted_ = {};
  missed_ns_ = 0;
}

/// What ends a wait of all together says what that was for; but what comes again and again, such as a helper that looks
/// after the others each second, may only have come first. Returns what of `rest` is left.
double WallLedger::share_counted(double rest, Causes& room, Causes& shares) const {
  const auto counted = causes_of(counted_);
  const double sum = std::accumulate(counted.begin(), counted.end(), static_cast<double>(counted_.open_ns));
  const double scale = sum > rest ? rest / sum : 1;
  double left = rest;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const double part = scale * static_cast<double>(counted[i]);
    left -= part;
    if (i != kSleep && i != kPoll) shares[i] += part;
    room[i] = std::max(room[i] - part, 0.0);
  }
  const double repeated = scale * static_cast<double>(counted[kSleep] + counted[kPoll]);
  Causes candidates = room;
  for (std::size_t i = 0; i < kOutside; ++i)
    if (i < kReady || candidates[i] < kNearlyAll * repeated) candidates[i] = 0;
  candidates[kSleep] = scale * static_cast<double>(counted[kSleep]);
  candidates[kPoll] = scale * static_cast<double>(counted[kPoll]);
  Causes weights = weights_;
  weights[kSleep] += 1;
  weights[kPoll] += 1;
  const double nobody = share_by_weight(repeated, kReady, kOutside, candidates, weights, shares);
  return std::max(left, 0.0) + nobody;
}

void WallLedger::share_out(std::uint64_t rest_ns) {
  Causes room = waited_;
  Causes shares{};
  double rest = static_cast<double>(rest_ns);
  if (counted_from_ns_) rest = share_counted(rest, room, shares);
  rest = share_by_weight(rest, 0, kOutside, room, weights_, shares);
  share_by_weight(rest, kOutside, kCauses, room, weights_, shares);
  if (waited_[kPoll] > 0) poll_given_ = std::min(shares[kPoll] / waited_[kPoll], 1.0);
  std::uint64_t given_ns = 0;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const std::uint64_t part_ns = std::min(static_cast<std::uint64_t>(shares[i]), rest_ns - given_ns);
    sums_.*kMembers[i] += part_ns;
    given_ns += part_ns;
  }
  sums_.other_ns += rest_ns - given_ns;
}

TaskLedger WallLedger::until(std::uint64_t begin_ns, std::uint64_t end_ns) const {
  WallLedger whole = *this;
  whole.close(end_ns);
  TaskLedger ledger = whole.sums_;
  const std::uint64_t wall_ns = end_ns - std::min(begin_ns, end_ns);
  if (ledger.wall_ns < wall_ns) ledger.other_ns += wall_ns - ledger.wall_ns;
  std::uint64_t over_ns = ledger.wall_ns - std::min(ledger.wall_ns, wall_ns);
  for (auto member : {&TaskLedger::other_ns, &TaskLedger::poll_ns, &TaskLedger::sleep_ns, &TaskLedger::pipe_ns,
                      &TaskLedger::queued_ns, &TaskLedger::computing_ns}) {
    const std::uint64_t part_ns = std::min(ledger.*member, over_ns);
    ledger.*member -= part_ns;
    over_ns -= part_ns;
  }
  ledger.wall_ns = wall_ns;
  ledger.computing_at_most_ns =
      std::clamp(ledger.computing_at_most_ns, ledger.computing_ns, std::max(wall_ns, ledger.computing_ns));
  return ledger;
}

}  // namespace tracer::internal
