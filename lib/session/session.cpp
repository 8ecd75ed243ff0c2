// SPDX-License-Identifier: Apache-2.0
#include <tracer/session.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <tracer/source.hpp>

#include "base/clock.hpp"
#include "base/own_usage.hpp"
#include "base/unique_fd.hpp"
#include "correlate/correlator.hpp"
#include "correlate/replay_filter.hpp"
#include "session/budget.hpp"
#include "dispatch/dispatcher.hpp"
#include "session/snapshot_clock.hpp"
#include "session/session_setup.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/kernel/proc_memory.hpp"

namespace tracer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kHousekeepingPeriod = std::chrono::seconds(1);

}  // namespace

class Session::Impl final : public internal::Feed {
 public:
  Impl(std::unique_ptr<internal::Source> source, SessionOptions options, std::vector<Context> contexts,
       bool from_kernel)
      : options_(std::move(options)),
        from_kernel_(from_kernel),
        contexts_(std::move(contexts)),
        source_(std::move(source)),
        control_(source_->control()),
        host_(source_->host()),
        dispatcher_(options_.on_error),
        correlator_(
            rules_of(options_), FilterEvaluator(options_.filter, from_kernel), 4 * options_.max_processes,
            [this](Event event) { emit(event); },
            from_kernel ? internal::read_pss_bytes : internal::SampleTable::ReadPss()),
        replay_filter_(FilterEvaluator(options_.filter, false)),
        snapshot_clock_(options_.sample_interval),
        budget_(options_.max_cost_share),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (std::uint32_t id = 0; id < contexts_.size(); ++id) correlator_.set_context(id, contexts_[id]);
  }
  ~Impl() {
    try {
      stop();
    } catch (...) {
      // Out of memory at the very end: the last events are lost, and nobody is left to tell.
      if (reader_.joinable()) reader_.join();
    }
  }

  Subscription subscribe(std::function<void(const Event&)> callback) {
    return dispatcher_.subscribe(std::move(callback));
  }

  Sink& add_sink(std::unique_ptr<Sink> sink) {
    sinks_.push_back(std::move(sink));
    return *sinks_.back();
  }

  void start() {
    const std::lock_guard not_while_stopping(stop_mutex_);
    {
      const std::lock_guard lock(source_mutex_);
      if (started_.load() || stopped_.load()) return;
      source_->start(*this);
      deliver();
      if (!is_active(Family::kWaits)) correlator_.stop_ledgers();
      snapshot_clock_.start(Clock::now());
      started_.store(true);
    }
    if (options_.reader == Reader::kOwnThread) reader_ = std::thread([this] { read_until_stopped(); });
  }

  void stop() {
    const std::lock_guard only_one(stop_mutex_);
    if (stopped_.load()) return;
    stopping_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof one);
    if (reader_.joinable()) reader_.join();
    const std::lock_guard lock(source_mutex_);
    if (started_.load()) finish();
    stopped_.store(true);
  }

  void track(pid_t pid, Context context) {
    const std::lock_guard lock(source_mutex_);
    auto at = std::find(contexts_.begin(), contexts_.end(), context);
    const bool fresh = at == contexts_.end();
    if (fresh) {
      if (contexts_.size() >= options_.max_contexts)
        throw Error({ErrorCode::kInvalidArgument,
                     0,
                     "more different labels than max_contexts",
                     "raise SessionOptions::max_contexts",
                     {}});
      contexts_.push_back(context);
      at = contexts_.end() - 1;
    }
    const auto id = static_cast<std::uint32_t>(at - contexts_.begin());
    correlator_.set_context(id, std::move(context));
    try {
      if (control_ != nullptr) control_->track(pid, id, *this);
      deliver();
    } catch (...) {
      if (fresh) contexts_.pop_back();
      throw;
    }
  }

  int fd() const noexcept { return source_->fd(); }
  bool finished() const noexcept { return stopped_.load() || source_->finished(); }

  std::size_t poll(std::chrono::milliseconds timeout) {
    wait(timeout);
    const std::lock_guard lock(source_mutex_);
    if (!started_.load() || stopped_.load()) return 0;
    const std::uint64_t before = events_.load();
    poll_source();
    return static_cast<std::size_t>(events_.load() - before);
  }

  std::vector<ProcessSample> living() {
    const std::lock_guard lock(source_mutex_);
    if (control_ == nullptr) return {};
    return correlator_.sample_now([this] { control_->snapshot(*this, false); });
  }

  Statistics statistics() const {
    const std::lock_guard lock(source_mutex_);
    Statistics statistics;
    const internal::Counters counters = source_->counters();
    statistics.records = counters.records;
    statistics.record_bytes = counters.record_bytes;
    statistics.events = events_.load();
    statistics.callback_errors = dispatcher_.callback_errors();
    statistics.secrets_masked = correlator_.secrets_masked();
    statistics.cost = own_cost();
    statistics.losses = losses();
    return statistics;
  }

  std::vector<ContextTotals> totals() const {
    const std::lock_guard lock(source_mutex_);
    std::vector<ContextTotals> all;
    if (control_ == nullptr) return all;
    for (const internal::RawTotals& raw : control_->totals()) all.push_back(totals_of(raw, contexts_));
    return all;
  }

  std::vector<std::string> explain() const { return explain_filter(options_.filter, from_kernel_, ::geteuid() != 0); }
  std::vector<SignalState> signals() const {
    return control_ == nullptr ? std::vector<SignalState>() : control_->signals();
  }
  const HostInfo& host() const noexcept { return host_; }

  void record(internal::Record&& record) override {
    try {
      correlator_.on_record(std::move(record));
    } catch (...) {
      ++out_of_memory_;
    }
  }

  void event(Event event) override {
    if (replay_filter_.keeps(event)) emit(std::move(event));
  }

  void snapshot_end(std::uint64_t time_ns) override {
    if (!folding_) return;
    for (Event& event : correlator_.take_snapshot(time_ns, *folding_)) emit(std::move(event));
  }

 private:
  void read_until_stopped() noexcept {
    while (!stopping_.load()) {
      wait(longest_wait());
      const std::lock_guard lock(source_mutex_);
      try {
        poll_source();
      } catch (...) {
        ++out_of_memory_;
      }
      if (source_->finished()) return;
    }
  }

  std::chrono::milliseconds longest_wait() const {
    auto housekeeping = std::chrono::duration_cast<std::chrono::milliseconds>(kHousekeepingPeriod);
    if (source_->poll_period().count() != 0) housekeeping = source_->poll_period();
    return wanted(options_, Family::kSnapshots) ? std::min(housekeeping, options_.sample_interval) : housekeeping;
  }

  void wait(std::chrono::milliseconds timeout) const {
    timeout = source_->finished() ? std::chrono::milliseconds(0) : std::min(timeout, longest_wait());
    pollfd ready[2] = {{source_->fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(ready, 2, static_cast<int>(timeout.count()));
  }

  void poll_source() {
    const CpuMeter meter(cpu_ns_);
    source_->drain(*this, {});
    deliver();
    take_snapshot();
    if (Clock::now() < next_housekeeping_) return;
    next_housekeeping_ = Clock::now() + kHousekeepingPeriod;
    report_losses();
    for (const auto& sink : sinks_) sink->flush();
    keep_to_budget();
  }

  OwnCost own_cost() const {
    OwnCost cost{cpu_ns_, snapshots_cpu_ns_, std::nullopt, resident_bytes(), std::nullopt};
    if (control_ == nullptr) return cost;
    cost.kernel_memory_bytes = control_->kernel_memory_bytes();
    for (const auto& [family, ns] : control_->kernel_ns())
      if (family != Family::kSnapshots) cost.kernel_ns = cost.kernel_ns.value_or(0) + ns;
    return cost;
  }

  bool is_active(Family family) const {
    for (const SignalState& state : signals())
      if (state.family == family) return state.active;
    return false;
  }

  void keep_to_budget() {
    if (!options_.max_cost_share || control_ == nullptr) return;
    const std::map<Family, std::uint64_t> kernel_ns = control_->kernel_ns();
    std::map<Family, internal::Budget::Cost> families;
    for (const SignalState& state : control_->signals())
      if (state.active) families[state.family];
    for (auto& [each, cost] : families) {
      // What the iterators cost in the kernel is the reading thread's CPU time already.
      if (each == Family::kSnapshots) {
        cost.reader_ns = snapshots_cpu_ns_;
      } else if (const auto at = kernel_ns.find(each); at != kernel_ns.end()) {
        cost.kernel_ns = at->second;
      }
    }
    const auto family = budget_.check({internal::boot_time_ns(), cpu_ns_, std::move(families)});
    if (!family) return;
    control_->shed(*family, {ErrorCode::kOverBudget,
                             0,
                             "family " + std::string(to_string(*family)) + " was given up: the session cost " +
                                 std::to_string(static_cast<int>(budget_.share() * 100)) + " % of a CPU",
                             "raise SessionOptions::max_cost_share, or follow fewer processes",
                             {}});
    if (*family == Family::kWaits) correlator_.stop_ledgers();
    if (*family == Family::kSnapshots) snapshots_shed_ = true;
  }

  void take_snapshot() {
    if (source_->ends_itself() || snapshots_shed_ || !wanted(options_, Family::kSnapshots)) return;
    const auto begin = Clock::now();
    if (!snapshot_clock_.due(begin)) return;
    const CpuMeter meter(snapshots_cpu_ns_);
    emit_samples(internal::Correlator::Folding::kOfMany);
    snapshot_clock_.took(begin, Clock::now());
  }

  void emit_samples(internal::Correlator::Folding folding) {
    if (control_ == nullptr) return;
    correlator_.begin_snapshot();
    folding_ = folding;
    control_->snapshot(*this, true);
    folding_.reset();
    deliver();
  }

  void emit(Event event) { undelivered_.push_back(std::move(event)); }

  /// With the source at rest, as a callback may call any method.
  void deliver() {
    while (!undelivered_.empty()) {
      const Event event = std::move(undelivered_.front());
      undelivered_.pop_front();
      deliver(event);
    }
  }

  void deliver(const Event& event) {
    events_.fetch_add(1);
    if (kind_of(event) == EventKind::kProcessExit) ++exits_;
    dispatcher_.dispatch(event);
    for (const auto& sink : sinks_) sink->on_event(event);
  }

  std::map<std::string, std::uint64_t> losses() const {
    std::map<std::string, std::uint64_t> losses = source_->counters().losses;
    const auto note = [&losses](const char* cause, std::uint64_t count) {
      if (count != 0) losses[cause] += count;
    };
    note("process_forgotten", correlator_.forgotten());
    note("out_of_memory", out_of_memory_);
    return losses;
  }

  void report_losses() {
    if (source_->ends_itself()) return;
    for (const auto& [cause, count] : losses()) {
      std::uint64_t& reported = reported_losses_[cause];
      if (count > reported) emit(Loss{internal::boot_time_ns(), cause, count - reported});
      reported = count;
    }
    deliver();
  }

  void tell_cost(SessionEnd& end) const {
    const OwnCost cost = own_cost();
    end.cost_cpu_ns = cost.cpu_ns;
    end.cost_kernel_ns = cost.kernel_ns;
    end.cost_memory_bytes = cost.memory_bytes;
    end.cost_kernel_memory_bytes = cost.kernel_memory_bytes;
    end.missing_families.emplace();
    for (const SignalState& state : signals())
      if (!state.active) end.missing_families->emplace_back(to_string(state.family));
  }

  void finish() {
    source_->stop();
    while (source_->drain(*this, {})) deliver();
    deliver();
    if (!source_->ends_itself()) {
      emit_samples(internal::Correlator::Folding::kNone);
      // What they wait for from now on is not seen.
      correlator_.stop_ledgers();
      report_losses();
      SessionEnd end;
      end.time_ns = internal::boot_time_ns();
      for (const ContextTotals& totals : this->totals()) {
        end.processes_started += totals.living + totals.ended;
        end.processes_ended += totals.ended;
      }
      end.exits_delivered = exits_;
      for (const auto& [cause, count] : losses()) end.losses += count;
      tell_cost(end);
      deliver(end);
    }
    for (const auto& sink : sinks_) sink->flush();
  }

  // Constant after construction.
  SessionOptions options_;
  bool from_kernel_;

  // Used under source_mutex_, which a callback may take again.
  mutable std::recursive_mutex source_mutex_;
  std::vector<Context> contexts_;
  std::unique_ptr<internal::Source> source_;
  internal::Control* control_;  ///< Of it; null: it has none.
  HostInfo host_;
  internal::Dispatcher dispatcher_;
  std::deque<Event> undelivered_;
  internal::Correlator correlator_;
  std::optional<internal::Correlator::Folding> folding_;  ///< While a snapshot is taken.
  ReplayFilter replay_filter_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::map<std::string, std::uint64_t> reported_losses_;
  Clock::time_point next_housekeeping_ = Clock::now() + kHousekeepingPeriod;
  internal::SnapshotClock snapshot_clock_;
  std::uint64_t exits_ = 0;
  std::uint64_t out_of_memory_ = 0;
  internal::Budget budget_;
  std::uint64_t cpu_ns_ = 0;
  std::uint64_t snapshots_cpu_ns_ = 0;
  bool snapshots_shed_ = false;

  std::atomic<std::uint64_t> events_{0};
  std::atomic<bool> started_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> stopped_{false};
  std::mutex stop_mutex_;
  UniqueFd wake_;
  std::thread reader_;
};

Session::Session(SessionOptions options) {
  std::vector<Context> contexts(1);
  auto source = internal::kernel_source(kernel_options(options, contexts));
  impl_ = std::make_unique<Impl>(std::move(source), std::move(options), std::move(contexts), true);
}

Session::Session(Source source, SessionOptions options) {
  auto owned = source.release();
  if (owned == nullptr)
    throw Error({ErrorCode::kInvalidArgument, 0, "the session's source was given to another", "make one each", {}});
  impl_ = std::make_unique<Impl>(std::move(owned), std::move(options), std::vector<Context>(1), false);
}

Session::~Session() = default;

Subscription Session::subscribe(std::function<void(const Event&)> callback) {
  return impl_->subscribe(std::move(callback));
}
Sink& Session::add_sink(std::unique_ptr<Sink> sink) { return impl_->add_sink(std::move(sink)); }
void Session::start() { impl_->start(); }
void Session::stop() { impl_->stop(); }
void Session::track(pid_t pid, Context context) { impl_->track(pid, std::move(context)); }
int Session::fd() const noexcept { return impl_->fd(); }
std::size_t Session::poll(std::chrono::milliseconds timeout) { return impl_->poll(timeout); }
bool Session::finished() const noexcept { return impl_->finished(); }
std::vector<ProcessSample> Session::living() { return impl_->living(); }
Statistics Session::statistics() const { return impl_->statistics(); }
std::vector<ContextTotals> Session::totals() const { return impl_->totals(); }
std::vector<std::string> Session::explain() const { return impl_->explain(); }
std::vector<SignalState> Session::signals() const { return impl_->signals(); }
const HostInfo& Session::host() const noexcept { return impl_->host(); }

}  // namespace tracer
