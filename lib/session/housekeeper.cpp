// SPDX-License-Identifier: Apache-2.0
#include "session/housekeeper.hpp"

#include <algorithm>
#include <string>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/own_usage.hpp"
#include "session/session_setup.hpp"

namespace tracer::internal {
namespace {

using Losses = std::map<std::string, std::uint64_t>;

/// Nanoseconds since the machine's start, and some times this, fit into a clock's 64 bits.
constexpr std::chrono::milliseconds kLongestInterval = std::chrono::hours(24 * 365);

bool follows_the_host(const SessionOptions& options) {
  const auto& rules = options.filter.rules();
  return std::none_of(rules.begin(), rules.end(), [](const Filter::Rule& rule) { return rule.include; });
}

}  // namespace

Housekeeper::Housekeeper(const SessionOptions& options, Source& source, Pipeline& pipeline, const View& session)
    : source_(source),
      snapshots_(source.snapshots()),
      kernel_side_(source.kernel_side()),
      pipeline_(pipeline),
      session_(session),
      snapshots_wanted_(snapshots_ != nullptr && wanted(options, Family::kSnapshots)),
      snapshot_clock_(std::clamp(options.sample_interval, std::chrono::milliseconds(0), kLongestInterval)),
      budget_(options.max_cost_share),
      has_budget_(snapshots_ != nullptr && options.max_cost_share.has_value()) {
  if (snapshots_wanted_ && source.tier() == Tier::kKernel && follows_the_host(options)) host_.emplace();
}

void Housekeeper::start(Clock::time_point now) {
  if (source_.tracker() != nullptr)
    for (const FamilyInfo& info : kFamilies)
      if (!active(info.family)) pipeline_.stop(info.family);
  snapshot_clock_.start(now);
  next_ = now + kPeriod;
}

void Housekeeper::go_on(const std::map<std::string, std::uint64_t>& reported) {
  const Losses counted = source_.counters().losses;
  for (const auto& [cause, count] : reported)
    if (const auto at = counted.find(cause); at != counted.end()) reported_losses_[cause] = std::min(count, at->second);
}

void Housekeeper::work(Clock::time_point now, bool hurries) {
  if (!hurries) take_snapshot(now);
  if (now < next_) return;
  next_ = now + kPeriod;
  pipeline_.expire_announcements();
  if (!rests() || now >= next_losses_) {
    next_losses_ = now + kRestPeriod;
    report_losses();
  }
  keep_to_budget();
}

bool Housekeeper::active(Family family) const {
  for (const FamilyState& state : source_.families())
    if (state.family == family) return state.active;
  return false;
}

void Housekeeper::take_snapshot(Clock::time_point now) {
  // Also where nobody asks: else it would be kept of all that live.
  const bool begun = pipeline_.take_begun();
  if (!snapshots_wanted_) return;
  const bool may_rest = may_rest_.load();
  if (woken_.exchange(false) || !may_rest) snapshot_clock_.wake(now);
  if (begun) snapshot_clock_.moves(now);
  if (!snapshot_clock_.due(now)) return;
  const std::uint64_t before_ns = snapshots_cpu_ns_.value();
  {
    const CpuMeter meter(snapshots_cpu_ns_);
    // As with the snapshots themselves, a little early is better than late.
    const bool with_host = host_ && now + kHostPeriod / 20 >= next_host_;
    if (with_host) next_host_ = next_host_ > now - kHostPeriod / 2 ? next_host_ + kHostPeriod : now + kHostPeriod;
    snapshot(Correlator::Folding::kOfMany, with_host);
  }
  const std::chrono::nanoseconds cpu(snapshots_cpu_ns_.value() - before_ns);
  snapshot_clock_.took(now, Clock::now(), cpu, pipeline_.memory_moves(), may_rest && pipeline_.at_rest());
}

void Housekeeper::snapshot(Correlator::Folding folding, bool with_host) {
  pipeline_.begin_snapshot(folding);
  if (with_host) pipeline_.record(host_->read());
  try {
    snapshots_->snapshot(pipeline_, true);
  } catch (const Error&) {
    // The source has counted it.
    pipeline_.abandon_snapshot();
  }
}

void Housekeeper::report_losses() {
  if (source_.ends_itself()) return;
  const Losses said = source_.says_losses() ? source_.counters().losses : Losses();
  const auto report = [this](std::uint64_t& reported, std::uint64_t count, const std::string& cause,
                             std::optional<uid_t> user) {
    if (count > reported) {
      Loss loss;
      loss.time_ns = boot_time_ns();
      loss.cause = cause;
      loss.count = count - reported;
      loss.uid = user;
      pipeline_.add(std::move(loss));
    }
    reported = count;
  };
  for (const auto& [cause, all] : session_.losses()) {
    const auto known = said.find(cause);
    const std::uint64_t count = all - (known == said.end() ? 0 : std::min(all, known->second));
    report(reported_losses_[cause], count, cause, std::nullopt);
  }
  for (const auto& [user, account] : session_.accounts()->all())
    for (const auto& [cause, count] : account.lost)
      report(reported_of_users_[{user, cause}], count, std::string(cause), user);
}

void Housekeeper::keep_to_budget() {
  if (!has_budget_) return;
  std::map<Family, std::uint64_t> kernel_ns;
  if (kernel_side_ != nullptr) kernel_ns = kernel_side_->kernel_ns();
  std::map<Family, Budget::Cost> families;
  for (const FamilyState& state : source_.families()) {
    if (!state.active) continue;
    Budget::Cost& cost = families[state.family];
    // What the iterators cost in the kernel is the reader's CPU time already.
    if (state.family == Family::kSnapshots) {
      cost.reader_ns = snapshots_cpu_ns_.value();
    } else if (const auto at = kernel_ns.find(state.family); at != kernel_ns.end()) {
      cost.kernel_ns = at->second;
    }
  }
  const auto family = budget_.check({boot_time_ns(), session_.reader_cpu_ns(), std::move(families)});
  if (!family) return;
  source_.shed(*family, {ErrorCode::kOverBudget,
                         0,
                         "family " + std::string(to_string(*family)) + " was disabled: the session cost " +
                             std::to_string(static_cast<int>(budget_.share() * 100)) + " % of a CPU",
                         "raise SessionOptions::max_cost_share, or follow fewer processes",
                         {}});
  pipeline_.stop(*family);
  if (*family == Family::kSnapshots) snapshots_wanted_ = false;
}

void Housekeeper::finish() {
  if (source_.ends_itself()) return;
  if (snapshots_ != nullptr) snapshot(Correlator::Folding::kNone, host_.has_value());
  if (Desk* const desk = source_.desk()) ask_for_last_samples(*desk);
  // What they wait for from now on is not seen.
  pipeline_.stop(Family::kWaits);
}

void Housekeeper::ask_for_last_samples(Desk& desk) {
  try {
    std::vector<ProcessSample> samples = desk.living();
    std::uint64_t time_ns = 0;
    for (ProcessSample& sample : samples) {
      if (!pipeline_.followed()->has(sample.process->pid, sample.process->start_ns)) continue;
      time_ns = std::max(time_ns, sample.time_ns);
      pipeline_.event(std::move(sample));
    }
    if (time_ns != 0) pipeline_.add(SnapshotEnd{time_ns});
  } catch (const Error&) {
    // The samples that have come are the last ones.
  }
}

void Housekeeper::end() {
  if (source_.ends_itself()) return;
  report_losses();
  SessionEnd end;
  end.time_ns = boot_time_ns();
  end.exits_delivered = pipeline_.exits();
  Losses losses = session_.losses();
  session_.accounts()->count_losses(losses);
  for (const auto& [cause, count] : losses) end.losses += count;
  const OwnCost cost = session_.cost();
  end.cost_cpu_ns = cost.cpu_ns;
  end.cost_kernel_ns = cost.kernel_ns;
  end.cost_memory_bytes = cost.memory_bytes;
  end.cost_kernel_memory_bytes = cost.kernel_memory_bytes;
  end.missed_at_most = source_.counters().missed_at_most;
  end.missing_families.emplace();
  for (const ContextTotals& totals : session_.totals()) {
    end.processes_started += totals.living + totals.ended;
    end.processes_ended += totals.ended;
  }
  for (const FamilyState& state : session_.families())
    if (!state.active) end.missing_families->emplace_back(to_string(state.family));
  pipeline_.add(std::move(end));
}

}  // namespace tracer::internal
