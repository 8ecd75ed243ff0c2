// SPDX-License-Identifier: Apache-2.0
#include "session/reader.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/held_commands.hpp"
#include "base/own_usage.hpp"
#include "base/proc_stat.hpp"
#include "base/quiet_thread.hpp"
#include "base/random.hpp"
#include "session/session_setup.hpp"
#include "source/proc/proc_text.hpp"

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;

/// What still lies in the ring when a session ends is a matter of some 100 ms, unless the reader gets next to no CPU.
constexpr std::chrono::seconds kLongestLastDrain{3};

constexpr std::chrono::milliseconds kLongestCatchUp{200};

/// While little happens, and nobody waits for it.
constexpr milliseconds kPeriodOfRest{250};

/// At the end, until sinks have written the parts before the last.
constexpr std::chrono::seconds kLongestWaitForSinks{1};

/// Of processes that have ended records may still come.
std::size_t most_remembered(const SessionOptions& options) {
  return 4 * std::min(options.max_processes, std::numeric_limits<std::size_t>::max() / 4);
}

/// What a service knows is of all that the caller may see: of what a filter takes in, this session knows better.
bool is_part(const SessionOptions& options, const Source& source) {
  return source.is_filtered() || !options.filter.rules().empty();
}

/// A recording that has findings keeps its own, and a service's are taken where they rest on the same.
std::unique_ptr<Insight> insight_of(const SessionOptions& options, Source& source,
                                    const std::shared_ptr<Accounts>& accounts) {
  const bool has_own_view = source.desk() != nullptr && (is_part(options, source) || !options.history.empty());
  const bool makes_them = options.findings && (source.wants_findings() || has_own_view);
  if (makes_them || !options.findings) source.leave_findings();
  if (!makes_them) return nullptr;
  const HostInfo& host = source.host();
  KernelSide* const kernel = source.kernel_side();
  auto insight =
      std::make_unique<Insight>(host.cpu_count, kernel == nullptr ? nullptr : kernel->scope_counts(), accounts);
  // What is full now says nothing of events of another time, or of another host.
  if (source.tracker() != nullptr || source.desk() != nullptr) insight->ask_this_host();
  if (!options.history.empty()) insight->use(std::make_unique<SessionHistory>(options.history), host.wall_offset_ns);
  return insight;
}

/// Null: the desk has it.
std::shared_ptr<StateTables> state_of(const SessionOptions& options, Source& source,
                                      const std::shared_ptr<Accounts>& accounts) {
  // Names that are to be hidden are hidden here alone.
  if (source.desk() != nullptr && !is_part(options, source) && !options.hash_paths) return nullptr;
  return std::make_shared<StateTables>(to_string(Key{random_number()}), accounts, source.tier() == Tier::kRecording);
}

std::unique_ptr<Followed> followed_of(Source& source, const SessionOptions& options) {
  return source.desk() == nullptr ? nullptr : std::make_unique<Followed>(most_remembered(options), lives);
}

/// What was kept of it has hashes in place of its words, by which no run or task can be told.
std::shared_ptr<const Process> with_words_of_proc(const std::shared_ptr<const Process>& kept) {
  const ProgramText words = proc_text(kept->pid, kept->start_ns, hierarchy_of(*kept->cgroup)).text;
  if (!words.exe && !words.argv) return kept;
  auto program = std::make_shared<Program>(*kept->program);
  program->exe = words.exe;
  program->argv = words.argv;
  program->argv_cut_bytes = words.argv_cut_bytes;
  program->cwd = words.cwd;
  auto process = std::make_shared<Process>(*kept);
  process->program = std::move(program);
  return process;
}

}  // namespace

Reader::Reader(std::unique_ptr<Source> source, SessionOptions options, std::shared_ptr<ContextTable> contexts,
               const HostInfo& host)
    : options_(std::move(options)),
      source_(std::move(source)),
      tracker_(source_->tracker()),
      kernel_side_(source_->kernel_side()),
      desk_(source_->desk()),
      contexts_(std::move(contexts)),
      outlets_(options_.on_error),
      pipeline_(rules_of(options_, contexts_, host, rule_problems_, accounts_), options_.filter, source_->filters(),
                most_remembered(options_), source_->questions(), insight_of(options_, *source_, accounts_),
                followed_of(*source_, options_), options_.hash_paths ? std::make_unique<HashedNames>() : nullptr),
      housekeeper_(options_, *source_, pipeline_, *this),
      label_numbers_(contexts_, *source_, [this](std::uint32_t number) { pipeline_.forget_context(number); }),
      own_tables_(state_of(options_, *source_, accounts_)),
      tables_(own_tables_) {
  contexts_->use(accounts_);
  // Whoever polls may be the one who reads the queue.
  if (options_.reader == tracer::ReaderMode::kPoll) outlets_.hurry();
}

/// Where the thread still runs, it has let go of the last reference itself.
Reader::~Reader() {
  if (thread_.joinable()) thread_.detach();
}

void Reader::start() {
  {
    const CpuMeter meter(start_cpu_ns_);
    const std::lock_guard turn(turn_);
    if (state_.load() != State::kNew) return;
    if (!stop_requested_.load()) {
      source_->start(pipeline_);
      housekeeper_.start(Housekeeper::Clock::now());
      period_ = source_->poll_period();
      if (period_.count() <= 0) period_ = Housekeeper::kPeriod;
      alarm_.start(source_->fd(), period_);
      state_.store(State::kRunning);
    }
  }
  // Stopped before it started: finish here.
  if (state_.load() == State::kNew) return static_cast<void>(finish());
  if (options_.reader != tracer::ReaderMode::kOwnThread) return alarm_.ring();
  const std::lock_guard lock(thread_mutex_);
  thread_ = start_quiet_thread([self = shared_from_this()] { self->run(); });
}

void Reader::go_on(Left left) {
  for (LeftProcess& each : left.processes) {
    if (options_.hash_paths) each.process = with_words_of_proc(each.process);
    const auto held = kernel_side_->held(each.process->pid, each.process->start_ns);
    if (!held) continue;
    each.context_id = held->context_id;
    each.program_start_ns = held->program_start_ns;
  }
  for (const pid_t pid : left.commands) pipeline_.add_command(static_cast<std::uint32_t>(pid), {.command = true});
  pipeline_.take_over(left.processes, left.exits);
  housekeeper_.go_on(left.losses);
}

void Reader::run() noexcept {
  while (!stop_requested_.load() && !source_->finished()) {
    alarm_.wait(milliseconds(-1));
    alarm_.reset();
    const std::lock_guard delivery(delivery_);
    round();
  }
  finish();
}

bool Reader::hurries() {
  const std::lock_guard lock(newcomers_mutex_);
  hurried_ = !hurried_ && !newcomers_.empty();
  return hurried_;
}

void Reader::keep_pace() {
  const bool rests = housekeeper_.rests();
  if (rests == std::exchange(rests_, rests)) return;
  alarm_.set_period(rests ? std::max(period_, kPeriodOfRest) : period_);
}

/// Drains once, and delivers. Where the drain was cut short, the alarm rings at once for the next.
std::size_t Reader::round() {
  std::uint64_t position = 0;
  std::uint64_t number = 0;
  Newcomers newcomers;
  std::vector<Event> living;
  std::vector<std::uint64_t> given;
  {
    const std::lock_guard turn(turn_);
    rounds_.add(1);
    number = rounds_.value();
    const CpuMeter meter(cpu_ns_);
    try {
      if (source_->drain(pipeline_, DrainLimit())) alarm_.ring();
      pipeline_.came_to(source_->position());
      label_numbers_.work();
      housekeeper_.work(Housekeeper::Clock::now(), hurries());
    } catch (...) {
      pipeline_.out_of_memory();
    }
    keep_pace();
    position = source_->position();
    batch_ = pipeline_.take_batch(std::move(batch_));
    if (when_delivered_) given = kernel_side_->given();
    newcomers = take_newcomers(false);
    if (!newcomers.empty()) living = pipeline_.living();
  }
  const std::size_t count = deliver_batch();
  if (when_delivered_) when_delivered_(std::move(given));
  welcome(newcomers, living);
  delivered_.reach(position);
  rounds_done_.reach(number);
  return count;
}

/// Likewise: callbacks run in it.
void Reader::welcome(const Newcomers& newcomers, std::span<const Event> living) noexcept {
  if (newcomers.empty()) return;
  delivering_.store(std::this_thread::get_id());
  for (const auto& join : newcomers) {
    try {
      join(living);
    } catch (...) {
      pipeline_.out_of_memory();
    }
  }
  delivering_.store(std::thread::id());
}

void Reader::add_to_state() noexcept {
  if (!own_tables_) return;
  for (const Event& event : batch_) {
    try {
      own_tables_->add(event);
    } catch (...) {
      pipeline_.out_of_memory();
    }
  }
}

/// With delivery held, and without the turn.
std::size_t Reader::deliver_batch() noexcept {
  const std::size_t count = batch_.size();
  if (count == 0) return 0;
  const CpuMeter meter(cpu_ns_);
  add_to_state();
  delivering_.store(std::this_thread::get_id());
  // Released in the next round, when most consumers are done, so that this thread frees what it made.
  for (std::size_t failed = outlets_.deliver(batch_); failed != 0; --failed) pipeline_.out_of_memory();
  delivering_.store(std::thread::id());
  return count;
}

std::size_t Reader::finish() noexcept {
  const std::lock_guard delivery(delivery_);
  std::size_t count = 0;
  bool was_running = false;
  {
    const std::lock_guard turn(turn_);
    const CpuMeter meter(cpu_ns_);
    was_running = state_.exchange(State::kFinished) == State::kRunning;
    if (was_running) finish_source();
  }
  welcome(take_newcomers(true), {});
  // Part by part, as what processes have used may be many events.
  const auto until = std::chrono::steady_clock::now() + kLongestWaitForSinks;
  while (was_running && !end_processes()) {
    count += deliver_batch();
    outlets_.wait_for_sinks(until);
  }
  {
    const std::lock_guard turn(turn_);
    const CpuMeter meter(cpu_ns_);
    if (was_running) end_source();
    batch_ = pipeline_.take_batch(std::move(batch_));
  }
  count += deliver_batch();
  // First, so that who sees a queue end sees a session that is finished.
  finished_.store(true);
  outlets_.end();
  delivered_.end();
  rounds_done_.end();
  return count;
}

/// With the turn.
void Reader::finish_source() noexcept {
  try {
    source_->stop();
    const auto until = Housekeeper::Clock::now() + kLongestLastDrain;
    while (source_->drain(pipeline_, DrainLimit()))
      if (Housekeeper::Clock::now() >= until && source_->leave_unread()) break;
    housekeeper_.finish();
  } catch (...) {
    pipeline_.out_of_memory();
  }
}

/// True: the rest is in the pipeline. False: a part of it is in the batch.
bool Reader::end_processes() noexcept {
  const std::lock_guard turn(turn_);
  const CpuMeter meter(cpu_ns_);
  try {
    if (pipeline_.end_processes()) return true;
  } catch (...) {
    pipeline_.out_of_memory();
    return true;
  }
  batch_ = pipeline_.take_batch(std::move(batch_));
  return false;
}

/// With the turn.
void Reader::end_source() noexcept {
  try {
    pipeline_.end_labels();
  } catch (...) {
    pipeline_.out_of_memory();
  }
  try {
    housekeeper_.end();
  } catch (...) {
    pipeline_.out_of_memory();
  }
}

void Reader::refuse_in_callback(const char* what) const {
  if (!in_callback()) return;
  throw Error({ErrorCode::kInCallback,
               0,
               std::string(what) + " inside a callback would wait for itself",
               "call request_stop(), or call it when the callback has returned",
               {}});
}

void Reader::request_stop() noexcept {
  stop_requested_.store(true);
  outlets_.hurry();
  alarm_.ring();
}

void Reader::stop() {
  refuse_in_callback("stop()");
  request_stop();
  {
    const std::lock_guard lock(thread_mutex_);
    if (thread_.joinable()) thread_.join();
  }
  finish();
  outlets_.finish_sinks();
}

void Reader::stop_or_leave() noexcept {
  request_stop();
  if (in_callback()) return;
  try {
    stop();
  } catch (...) {
    // Out of memory at the very end: the last events are lost, and nobody is left to hear of it.
  }
}

std::size_t Reader::poll_beside(milliseconds timeout, int other_fd) {
  refuse_in_callback("poll()");
  if (options_.reader == tracer::ReaderMode::kOwnThread)
    throw Error({ErrorCode::kContradiction,
                 0,
                 "poll() of a session that reads on its own thread",
                 "make it with ReaderMode::kPoll, or don't call poll()",
                 {}});
  if (finished_.load()) return 0;
  const Deadline until(timeout);
  alarm_.wait(timeout, other_fd);
  if (other_fd >= 0 && is_readable(other_fd)) return 0;
  std::unique_lock delivery(delivery_, std::defer_lock);
  if (other_fd >= 0) {
    // Whoever delivers now fills the queue before it runs callbacks.
    if (!delivery.try_lock()) {
      wait_for(other_fd, milliseconds(1));
      return 0;
    }
  } else if (!delivery.try_lock_until(until.time())) {
    return 0;
  }
  return take_turn(std::move(delivery));
}

std::size_t Reader::take_turn(std::unique_lock<Gate> delivery) {
  alarm_.reset();
  if (state_.load() == State::kFinished || (state_.load() == State::kNew && !stop_requested_.load())) return 0;
  const std::size_t count = stop_requested_.load() ? 0 : round();
  delivery.unlock();
  return stop_requested_.load() || source_->finished() ? count + finish() : count;
}

bool Reader::flush(milliseconds timeout, const std::function<bool()>& go_on) {
  refuse_in_callback("flush()");
  if (state_.load() == State::kNew) return true;
  const Deadline until(timeout);
  source_->settle(timeout.count() < 0 ? milliseconds::max() : timeout);
  const std::uint64_t end = source_->end_position();
  // What is no record, such as the end of a label, is taken by a round that begins now.
  const std::uint64_t round_from_now = rounds_.value() + 1;
  for (Pause pause;;) {
    if (options_.reader == tracer::ReaderMode::kPoll) {
      std::unique_lock delivery(delivery_, std::defer_lock);
      if (delivery.try_lock_until(until.within(pause.next())) && take_turn(std::move(delivery)) != 0) pause = Pause();
    } else {
      // Again and again: a record before the end may not be whole yet when it is read.
      alarm_.ring();
    }
    const auto look_again = until.within(pause.next());
    if (delivered_.wait(end, look_again) && rounds_done_.wait(round_from_now, look_again)) return true;
    if (until.passed() || (go_on && !go_on())) return false;
  }
}

void Reader::track(pid_t pid, const Context& context, TrackAs as) {
  if (desk_ != nullptr && in_own_process() && state_.load() != State::kFinished) {
    desk_->track(pid, context, {as.command, as.held || is_held_command(pid)});
    const std::lock_guard turn(turn_);
    pipeline_.follow(static_cast<std::uint32_t>(pid));
    return alarm_.ring();
  }
  const std::lock_guard turn(turn_);
  if (tracker_ == nullptr || state_.load() == State::kFinished) return;
  if (as) {
    // Its fork was sent before anybody could name it.
    const auto until = Housekeeper::Clock::now() + kLongestCatchUp;
    while (source_->drain(pipeline_, DrainLimit()) && Housekeeper::Clock::now() < until) continue;
    pipeline_.add_command(static_cast<std::uint32_t>(pid), as);
    alarm_.ring();
    if (context == Context{}) return;
  }
  housekeeper_.wake();
  const std::uint32_t number = contexts_->number_of(context);
  try {
    tracker_->track(pid, number, pipeline_);
  } catch (const Error& error) {
    const bool has_begun = error.code() != ErrorCode::kFilterNamesNothing && error.code() != ErrorCode::kPermission;
    if (has_begun) {
      contexts_->give_back(number, source_->end_position());
    } else {
      contexts_->take_back(number, source_->end_position());
    }
    throw;
  }
  // Before start() nothing has it yet.
  if (state_.load() == State::kRunning) contexts_->give_back(number, source_->end_position());
  if (pipeline_.has_batch()) alarm_.ring();
}

std::optional<Reader::OpenLabel> Reader::open_label(const Context& context, const Caller& caller) {
  if (desk_ != nullptr && in_own_process() && state_.load() != State::kFinished)
    return OpenLabel{desk_->open_label(context, caller)};
  if (tracker_ == nullptr || !in_own_process() || state_.load() == State::kFinished) return std::nullopt;
  housekeeper_.wake();
  const std::uint32_t number = number_of(context);
  OpenLabel label{0, number, number == 0 ? nullptr : contexts_->at(number)};
  // Before there are records of it.
  pipeline_.label_opens(label.context);
  try {
    label.serial = tracker_->open_label(caller.tid, number);
  } catch (...) {
    const std::uint64_t position = source_->end_position();
    pipeline_.label_ends(label.context, position);
    contexts_->take_back(number, position);
    throw;
  }
  return label;
}

/// Where all numbers are taken, waits until some that are idle were given back.
std::uint32_t Reader::number_of(const Context& context) {
  constexpr auto kPause = milliseconds(10);
  constexpr auto kLongest = std::chrono::seconds(2);
  // Other users of a service would wait as long.
  if (context.owner_uid) return contexts_->number_of(context);
  const auto until = Housekeeper::Clock::now() + kLongest;
  while (!contexts_->has_room(context) && contexts_->is_crowded() && state_.load() == State::kRunning &&
         !in_callback() && Housekeeper::Clock::now() < until) {
    {
      const std::lock_guard turn(turn_);
      source_->drain(pipeline_, DrainLimit());
      pipeline_.came_to(source_->position());
      label_numbers_.work();
    }
    alarm_.ring();
    if (!contexts_->has_room(context)) std::this_thread::sleep_for(kPause);
  }
  return contexts_->number_of(context);
}

void Reader::close_label(const OpenLabel& label) noexcept {
  if (desk_ != nullptr && in_own_process()) return desk_->close_label(label.serial);
  if (!in_own_process() || !tracker_->close_label(label.serial)) return;
  const std::uint64_t position = source_->end_position();
  pipeline_.label_ends(label.context, position);
  contexts_->give_back(label.number, position);
}

void Reader::resume_label(const OpenLabel& label, const Caller& caller) noexcept {
  if (!in_own_process()) return;
  desk_ != nullptr ? desk_->resume_label(label.serial, caller) : tracker_->resume_label(caller.tid, label.serial);
}

void Reader::disown_thread(const Caller& caller) noexcept {
  if (!in_own_process() || state_.load() == State::kFinished) return;
  if (desk_ != nullptr) desk_->disown_thread(caller);
  if (tracker_ != nullptr) tracker_->disown_thread(caller.tid);
}

void Reader::report_own_work(const Context& task, OwnWork work, const Caller& caller) {
  if (desk_ != nullptr && in_own_process() && state_.load() == State::kRunning)
    return desk_->report_own_work(task, work);
  if (tracker_ == nullptr || !in_own_process() || state_.load() != State::kRunning) return;
  const std::uint32_t number = contexts_->number_of(task);
  try {
    pipeline_.own_work(number == 0 ? nullptr : contexts_->at(number), caller.pid, std::move(work));
  } catch (...) {
    contexts_->take_back(number, source_->end_position());
    throw;
  }
  contexts_->give_back(number, source_->end_position());
}

void Reader::announce(const Announcement& announcement, const Caller& caller, const std::optional<JudgedFolder>& judged,
                      const std::optional<AnnouncementLimit>& limit) {
  Announced announced = checked(announcement, caller, judged);
  if (state_.load() == State::kFinished) return;
  if (desk_ != nullptr) return desk_->announce(announcement, caller);
  housekeeper_.wake();
  pipeline_.announce(std::move(announced), limit);
}

Key Reader::submit(const Submission& submission, const Caller& caller, const std::optional<SubmittedEarlier>& earlier) {
  if (desk_ != nullptr) return desk_->submit(submission);
  const Key key = pipeline_.submit(submission, caller, earlier);
  if (state_.load() != State::kFinished) housekeeper_.wake();
  return key;
}

void Reader::withdraw(const Withdrawal& withdrawal, const Caller& caller) {
  if (desk_ != nullptr) return desk_->withdraw(withdrawal);
  pipeline_.withdraw(withdrawal, caller.uid, source_->end_position());
  if (state_.load() != State::kFinished) housekeeper_.wake();
}

std::vector<ProcessSample> Reader::living_at_desk() {
  // Which of them are followed is known of those whose beginning has come.
  source_->settle(kLongestCatchUp);
  const std::uint64_t end = source_->end_position();
  const auto until = Housekeeper::Clock::now() + kLongestCatchUp;
  for (bool more = true; more && Housekeeper::Clock::now() < until;) {
    const std::lock_guard turn(turn_);
    source_->drain(pipeline_, DrainLimit());
    more = source_->position() < end;
    if (more) wait_for(source_->fd(), milliseconds(1));
  }
  alarm_.ring();
  std::vector<ProcessSample> samples = desk_->living();
  std::erase_if(samples, [this](const ProcessSample& sample) {
    return !pipeline_.followed()->has(sample.process->pid, sample.process->start_ns);
  });
  const std::lock_guard turn(turn_);
  return pipeline_.hidden(std::move(samples));
}

std::vector<ProcessSample> Reader::living() {
  if (desk_ != nullptr && in_own_process() && state_.load() == State::kRunning) return living_at_desk();
  const std::lock_guard turn(turn_);
  Snapshots* const snapshots = source_->snapshots();
  if (snapshots == nullptr || finished_.load()) return {};
  pipeline_.begin_query();
  try {
    snapshots->snapshot(pipeline_, false);
  } catch (...) {
    pipeline_.abandon_snapshot();
    throw;
  }
  if (pipeline_.has_batch()) alarm_.ring();
  return pipeline_.take_samples();
}

Queue Reader::queue(QueueOptions options) {
  const bool living_first = options.living_first;
  auto state = std::make_shared<QueueState>(std::move(options));
  state->set_drive([weak = weak_from_this()](milliseconds timeout, int queue_fd) {
    if (const auto reader = weak.lock()) reader->drive(timeout, queue_fd);
  });
  add(living_first, [this, state](std::span<const Event> living) { outlets_.add(state, living); });
  return Queue(std::move(state));
}

/// Waits for `queue_fd`, and reads meanwhile where nobody else does.
void Reader::drive(milliseconds timeout, int queue_fd) {
  refuse_in_callback("waiting for a queue");
  if (options_.reader == tracer::ReaderMode::kPoll) {
    poll_beside(timeout, queue_fd);
  } else {
    wait_for(queue_fd, timeout);
  }
}

SinkHandle Reader::add_sink(std::unique_ptr<Sink> sink, QueueOptions options) {
  const bool living_first = options.living_first;
  auto runner = SinkRunner::start(std::move(sink), std::move(options));
  add(living_first, [this, runner](std::span<const Event> living) { outlets_.add(runner, living); });
  return SinkHandle(std::move(runner));
}

Subscription Reader::subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback,
                               SubscribeOptions options) {
  if (!options.living_first) return outlets_.dispatcher().subscribe(kind, std::move(callback));
  auto subscriber = std::make_shared<Subscriber>(std::move(callback));
  add(true,
      [this, kind, subscriber](std::span<const Event> living) { outlets_.dispatcher().add(kind, subscriber, living); });
  return Dispatcher::subscription(std::move(subscriber));
}

/// At once, or when what was read so far has been delivered to all others: then it is clear what lives.
void Reader::add(bool living_first, std::function<void(std::span<const Event> living)> join) {
  if (living_first && (tracker_ != nullptr || desk_ != nullptr) && state_.load() == State::kRunning) {
    const std::lock_guard lock(newcomers_mutex_);
    if (!newcomers_closed_) {
      newcomers_.push_back(std::move(join));
      alarm_.ring();
      return;
    }
  }
  join({});
}

Reader::Newcomers Reader::take_newcomers(bool last) {
  const std::lock_guard lock(newcomers_mutex_);
  newcomers_closed_ = newcomers_closed_ || last;
  return std::exchange(newcomers_, {});
}

std::map<std::string, std::uint64_t> Reader::losses() const {
  std::map<std::string, std::uint64_t> losses = source_->counters().losses;
  pipeline_.count_losses(losses);
  return losses;
}

OwnCost Reader::cost() const {
  OwnCost cost;
  cost.cpu_ns = start_cpu_ns_.value() + cpu_ns_.value() + outlets_.sinks_cpu_ns();
  cost.snapshots_cpu_ns = housekeeper_.snapshots_cpu_ns().value();
  cost.memory_bytes = resident_bytes();
  if (kernel_side_ == nullptr) return cost;
  cost.kernel_memory_bytes = kernel_side_->kernel_memory_bytes();
  for (const auto& [family, ns] : kernel_side_->kernel_ns())
    if (family != Family::kSnapshots) cost.kernel_ns = cost.kernel_ns.value_or(0) + ns;
  return cost;
}

Statistics Reader::statistics() const {
  const Counters counters = source_->counters();
  Statistics statistics;
  statistics.records = counters.records;
  statistics.record_bytes = counters.record_bytes;
  statistics.events = outlets_.events();
  statistics.callback_errors = outlets_.dispatcher().callback_errors();
  statistics.secrets_masked = pipeline_.secrets_masked();
  statistics.announcements_met = pipeline_.announcements_met();
  statistics.announcements_expired = pipeline_.announcements_expired();
  statistics.announcements_refused = pipeline_.announcements_refused();
  statistics.cost = cost();
  statistics.losses = counters.losses;
  statistics.missed_at_most = counters.missed_at_most;
  pipeline_.count_losses(statistics.losses);
  accounts_->count_losses(statistics.losses);
  return statistics;
}

std::vector<ContextTotals> Reader::totals() const {
  if (desk_ != nullptr) return pipeline_.followed()->totals();
  std::vector<ContextTotals> all;
  if (tracker_ == nullptr) return all;
  for (const RawTotals& raw : tracker_->totals()) {
    const auto context = contexts_->at(raw.context_id);
    all.push_back(totals_of(raw, context ? *context : Context{}));
  }
  return all;
}

std::string Reader::state(const StateQuery& query) const {
  return tables_ ? tables_->json(query) : desk_->state(query);
}

std::vector<FamilyState> Reader::families() const { return source_->families(); }

}  // namespace tracer::internal
