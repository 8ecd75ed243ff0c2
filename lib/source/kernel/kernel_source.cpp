// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/kernel_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/counter.hpp"
#include "wire.h"

#include "lifecycle.skel.h"
#include "source/proc/cgroup_files.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "source/kernel/visit/iterator.hpp"
#include "source/kernel/kernel_counters.hpp"
#include "source/kernel/load/restart_kernel.hpp"
#include "source/kernel/load/kernel_programs.hpp"
#include "source/kernel/labels.hpp"
#include "source/kernel/restart_left_side.hpp"
#include "source/kernel/visit/living_tree.hpp"
#include "source/proc/pid_namespace.hpp"
#include "source/proc/proc_memory.hpp"
#include "source/proc/proc_text.hpp"
#include "source/kernel/visit/process_counting.hpp"
#include "source/kernel/ring/rings.hpp"
#include "source/kernel/rules.hpp"
#include "source/kernel/scopes.hpp"
#include "source/kernel/visit/settling.hpp"

namespace tracer::internal {
namespace {

using Bytes = std::span<const std::byte>;

class KernelSource final : public Source, public Tracker, public Snapshots, public HostQuestions, public KernelSide {
 public:
  explicit KernelSource(const KernelSourceOptions& options)
      : options_(checked(options)),
        programs_(options_),
        skeleton_(programs_.lifecycle()),
        rules_(skeleton_),
        counters_(*skeleton_.obj),
        labels_(skeleton_),
        scopes_(skeleton_),
        rings_(programs_.rings()) {
    gaps_.add(options_.gaps);
    if (options_.keep && options_.keep->continues()) scopes_.go_on();
    if (options_.keep && options_.keep->has_other_side())
      left_ = std::make_unique<LeftSide>(*options_.keep, options_.released);
  }

  Tier tier() const noexcept override { return Tier::kKernel; }
  bool filters() const noexcept override { return true; }
  HostInfo host() const override {
    HostInfo host = this_host();
    host.session_id = options_.session_id;
    return host;
  }
  int fd() const noexcept override { return rings_.fd(); }
  /// In between the kernel wakes the reader only when the ring fills.
  std::chrono::milliseconds poll_period() const noexcept override { return std::chrono::milliseconds(100); }
  bool finished() const noexcept override { return stopped_; }
  bool wants_findings() const noexcept override { return true; }
  Tracker* tracker() noexcept override { return this; }
  Snapshots* snapshots() noexcept override { return this; }
  HostQuestions* questions() noexcept override { return this; }
  KernelSide* kernel_side() noexcept override { return this; }

  void start(Feed& feed) override {
    programs_.attach();
    if (options_.keep && options_.keep->continues()) return go_on(feed);
    misses_before_ = programs_.recursion_misses();
    if (left_) return take_over(feed);
    take_in(feed);
    begin(feed);
  }

  bool drain(Feed& feed, const DrainLimit& limit) override {
    constexpr std::size_t kRecordsPerLookAtTheClock = 64;
    const auto until = std::chrono::steady_clock::now() + limit.time;
    std::size_t records = 0;
    bool more = false;
    labels_.forget_left();
    {
      // A wake-up that was sent while this was reading is spent: an empty ring is not readable. So only at its end is
      // another one asked for, and what came since the last look is looked for.
      const ReaderAwake awake(rings_);
      more = rings_.consume([&](Bytes bytes) {
        yield(bytes, feed);
        ++records;
        return records < limit.records &&
               (records % kRecordsPerLookAtTheClock != 0 || std::chrono::steady_clock::now() < until);
      });
    }
    const std::uint64_t unread_bytes = rings_.unread_bytes_of_fullest();
    // The first record is not whole yet. The ring stays readable: whoever waits for it would be back at once.
    if (records == 0 && unread_bytes != 0) std::this_thread::sleep_for(kPauseForWriter);
    more = (more && records != 0) || unread_bytes >= skeleton_.rodata->wakeup_bytes;
    // At the end, one that is not whole yet is waited for: nobody comes again.
    more = more || (stopped_ && rings_.position() < rings_.end_position());
    if (stopped_ && !more) programs_.flush(feed);
    return more;
  }

  void settle(std::chrono::milliseconds most) override { let_ending_end(counters_, std::min(most, kMostSettling)); }
  std::uint64_t end_position() const noexcept override { return rings_.end_position(); }
  std::uint64_t position() const noexcept override { return rings_.position(); }

  bool leave_unread() override {
    const auto give_up = [this](Bytes) {
      unread_.add(1);
      return true;
    };
    int pauses = 0;
    for (std::uint64_t before = rings_.position(); rings_.consume(give_up); before = rings_.position()) {
      // Behind one that is not whole yet.
      if (rings_.position() != before) continue;
      if (++pauses > kMostPausesForWriter) break;
      std::this_thread::sleep_for(kPauseForWriter);
    }
    return true;
  }

  void stop() override {
    let_ending_end(counters_, kMostSettling);
    programs_.end_events();
    scopes_.stop();
    stopped_ = true;
  }

  void track(pid_t pid, std::uint32_t context_id, Feed& feed) override {
    Filter::Rule tree;
    tree.number = static_cast<std::uint64_t>(pid);
    require_named(tree, options_.own_uid_only);
    if (!started_) return static_cast<void>(tracked_early_.emplace_back(pid, context_id));
    note_context(context_id);
    LivingTree living(static_cast<std::uint32_t>(pid), context_id);
    const Adopting adopting(skeleton_, rules_);
    for (int pass = 0; pass < kMostPasses && !living.done(); ++pass) {
      rules_.forget_trees();
      for (const std::uint32_t each : living.name(KernelRules::kMostTrees)) rules_.include_tree(each, context_id);
      visit(feed, [&](const tracer_wire_thread& thread) {
        if (living.see(thread) || thread.newly_adopted != 0) yield(thread, feed);
      });
      living.visited();
    }
  }

  void snapshot(Feed& feed, bool with_cgroups) override try {
    const std::uint64_t time_ns = boot_time_ns();
    visit(feed, [&](const tracer_wire_thread& thread) {
      yield(thread, feed);
      if (with_cgroups) programs_.saw(thread);
    });
    programs_.read(decoder_, feed, {[this] { keep_up(); }, [this] { return tracks_shown(); }, with_cgroups});
    feed.snapshot_end(time_ns);
  } catch (const Error&) {
    failed_snapshots_.add(1);
    throw;
  }

  std::uint64_t open_label(pid_t tid, std::uint32_t context_id) override {
    note_context(context_id);
    return labels_.open(tid, context_id);
  }
  bool close_label(std::uint64_t serial) noexcept override { return labels_.close(serial); }
  void resume_label(pid_t tid, std::uint64_t serial) noexcept override { labels_.resume(tid, serial); }
  void disown_thread(pid_t tid) noexcept override { labels_.disown(tid); }

  /// Its tables are by the kernel's numbers of processes, its records by those that its pid namespace shows.
  void use(const UserIds& user_ids) override { programs_.use(user_ids); }
  ScopeCounts* scope_counts() noexcept override {
    const bool counts = skeleton_.rodata->keep_ledgers != 0 && own_pid_namespace() == 0;
    return counts ? &scopes_ : nullptr;
  }

  void shed(Family family, const Problem& problem) override {
    if (family == Family::kWaits) scopes_.shed();
    programs_.shed(family, problem);
  }
  std::vector<std::uint32_t> unused_contexts(std::vector<std::uint32_t> ids) const override {
    return counters_.unused_contexts(std::move(ids));
  }
  void forget_context(std::uint32_t id) override { counters_.forget_context(id); }
  std::optional<Held> held(std::uint32_t pid, std::uint64_t start_ns) const override {
    if (own_pid_namespace() != 0) return std::nullopt;
    return left_ ? left_->held(pid, start_ns) : counters_.held(pid, start_ns);
  }
  std::vector<std::uint64_t> given() const override { return rings_.given(); }
  void release(std::span<const std::uint64_t> given) noexcept override { rings_.release(given); }
  double unreleased_share() const noexcept override { return rings_.unreleased_share(); }
  std::vector<RawTotals> totals() const override { return counters_.totals(last_context_); }
  std::vector<FamilyState> families() const override { return programs_.states(); }
  std::map<Family, std::uint64_t> kernel_ns() const override { return programs_.kernel_ns(); }
  std::optional<std::uint64_t> kernel_memory_bytes() const override {
    return programs_.memory_bytes() + rings_.extra_memory_bytes();
  }

  std::optional<std::uint64_t> pss_bytes(std::uint32_t pid, std::uint64_t huge_sharers) override {
    keep_up();
    return read_pss_bytes(pid, huge_sharers);
  }
  std::optional<std::string> cgroup_path(Hierarchy hierarchy, std::uint64_t id) const override {
    return knows_cgroup_paths() ? internal::cgroup_path(hierarchy, id) : std::nullopt;
  }

  Counters counters() const override {
    Counters counters;
    counters.losses = programs_.losses();
    if (const std::uint64_t missed = programs_.recursion_misses() - misses_before_; missed != 0)
      counters.losses["kernel_recursion"] = missed;
    if (const std::uint64_t refused = labels_.refused(); refused != 0) counters.losses["label_table_full"] += refused;
    if (const std::uint64_t failed = failed_snapshots_.value(); failed != 0)
      counters.losses["snapshot_failed"] = failed;
    if (const std::uint64_t unread = unread_.value(); unread != 0) counters.losses["left_unread"] = unread;
    if (const std::uint64_t gaps = gaps_.value(); gaps != 0) counters.losses["service_gap"] = gaps;
    decoder_.add_to(counters);
    return counters;
  }

 private:
  using Threads = std::span<const tracer_wire_thread>;
  using TakeThread = std::function<void(const tracer_wire_thread&)>;
  static constexpr int kMostPasses = 16;
  static constexpr std::size_t kMostRingBytes = 1u << 31;
  /// The kernel takes hardly more in a table; long before that memory is short.
  static constexpr std::size_t kMostEntries = 1u << 26;
  static constexpr std::chrono::milliseconds kMostSettling{100};
  /// Of a record that is not whole yet the writer needs hardly more, once it has a CPU.
  static constexpr std::chrono::microseconds kPauseForWriter{100};
  static constexpr int kMostPausesForWriter = 10'000;

  /// While it lives the iterator takes in what the rules name.
  class Adopting {
   public:
    Adopting(lifecycle_bpf& skeleton, const KernelRules& rules) : skeleton_(skeleton), rules_(rules) {
      skeleton_.bss->adopting = 1;
    }
    ~Adopting() {
      skeleton_.bss->adopting = 0;
      rules_.forget_trees();
    }
    Adopting(const Adopting&) = delete;
    Adopting& operator=(const Adopting&) = delete;

   private:
    lifecycle_bpf& skeleton_;
    const KernelRules& rules_;
  };

  /// While it lives, the rings are read; afterwards, a producer that fills a ring to the mark wakes the reader again.
  class ReaderAwake {
   public:
    explicit ReaderAwake(Rings& rings) noexcept : rings_(rings) {}
    ~ReaderAwake() { rings_.ask_to_be_woken(); }
    ReaderAwake(const ReaderAwake&) = delete;
    ReaderAwake& operator=(const ReaderAwake&) = delete;

   private:
    Rings& rings_;
  };

  /// Puts the words of what is taken in in the middle of its life before its record, as only /proc has them, and what
  /// families have to add.
  class WithMore final : public Feed {
   public:
    WithMore(Feed& to, KernelPrograms& programs) noexcept : to_(to), programs_(programs) {}
    void record(const Record& record) override {
      if (!programs_.pass(record, to_)) return;
      if (const auto* start = std::get_if<StartRecord>(&record);
          start != nullptr && start->attached_ns && !start->executing)
        add_words(start->identity);
      if (const auto* thread = std::get_if<ThreadRecord>(&record); thread != nullptr && thread->newly_adopted)
        add_words(thread->identity);
      to_.record(record);
    }
    void event(Event event) override { to_.event(std::move(event)); }
    void snapshot_end(std::uint64_t time_ns) override { to_.snapshot_end(time_ns); }

   private:
    void add_words(const RecordIdentity& identity) {
      to_.record(proc_text(identity.pid, identity.start_ns, identity.hierarchy));
    }

    Feed& to_;
    KernelPrograms& programs_;
  };

  static const KernelSourceOptions& checked(const KernelSourceOptions& options) {
    for (const auto& rule : options.rules) require_named(rule.rule, options.own_uid_only);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < page || options.ring_bytes > kMostRingBytes)
      throw Error({ErrorCode::kInvalidArgument,
                   0,
                   fmt::format("a ring of {} bytes is not possible", options.ring_bytes),
                   "use a power of two of at least a page, and at most 2 GiB",
                   {}});
    for (const auto& [name, entries] :
         {std::pair("max_processes", options.max_processes), std::pair("max_threads", options.max_threads),
          std::pair("max_cgroups", options.max_cgroups), std::pair("max_contexts", options.max_contexts),
          std::pair("max_labeled_threads", options.max_labeled_threads)})
      if (entries == 0 || entries > kMostEntries)
        throw Error({ErrorCode::kInvalidArgument,
                     0,
                     fmt::format("{} can't be {}", name, entries),
                     fmt::format("use 1 to {}", kMostEntries),
                     {}});
    return options;
  }

  void note_context(std::uint32_t id) {
    counters_.add_context(id);
    std::uint32_t last = last_context_.load();
    while (id > last && !last_context_.compare_exchange_weak(last, id)) continue;
  }

  /// To be called every few milliseconds by what takes longer: makes room for what happens meanwhile.
  void keep_up() {
    if (!rings_.is_time_to_keep_up()) return;
    const ReaderAwake awake(rings_);
    rings_.keep_up();
  }

  /// Tells of pids as this process sees them.
  SnapshotHelp::Tracks tracks_shown() const {
    if (own_pid_namespace() == 0) return [this](std::uint32_t pid) { return counters_.tracks(pid); };
    std::set<std::uint32_t> pids;
    for (const auto& each : counters_.tracked()) pids.insert(each.pid);
    return [pids = std::move(pids)](std::uint32_t pid) { return pids.contains(pid); };
  }

  /// Takes a record for each living thread, in the order of time; adopts while there is an Adopting. The ring is
  /// drained on the way, so that it doesn't fill however many threads there are.
  void visit(Feed& feed, const TakeThread& each) {
    {
      const ReaderAwake awake(rings_);
      read_iterator_as<tracer_wire_thread>(skeleton_.links.living_tasks,
                                           [&](Threads chunk) { yield_in_order(chunk, feed, each); });
    }
    count_what_runs(skeleton_);
  }

  void take_in(Feed& feed) {
    for (const auto& rule : options_.rules) {
      note_context(rule.context_id);
      rules_.add(rule);
    }
    const Adopting adopting(skeleton_, rules_);
    // A child may be visited before its parent is taken in.
    for (int pass = 0; pass < kMostPasses; ++pass)
      if (yield_adopted(feed) == 0) break;
  }

  /// Both kernel sides see what happens until the other ends: nothing is missed. What the other has seen, this one is
  /// read for afterwards.
  void take_over(Feed& feed) {
    const std::uint64_t attached_ns = boot_time_ns();
    HeldFeed seen;
    take_in(seen);
    options_.keep->end_left();
    HeldFeed left;
    WithMore with_more(left, programs_);
    gaps_.add(left_->read_rest(decoder_, with_more));
    left_.reset();
    {
      const ReaderAwake awake(rings_);
      const std::uint64_t end = rings_.end_position();
      consume_until([&] { return rings_.position() >= end; },
                    [&](Bytes bytes) {
                      yield(bytes, seen);
                      return true;
                    });
    }
    join_sides(left.records(), seen.records(), attached_ns, feed);
    begin(feed);
  }

  /// Waits for records that are not whole yet, for a moment.
  template <class Done>
  void consume_until(const Done& done, const TakeRecord& take) {
    int pauses = 0;
    while (!done()) {
      const std::uint64_t before = rings_.position();
      rings_.consume(take);
      if (rings_.position() != before) continue;
      if (++pauses > kMostPausesForWriter) return;
      std::this_thread::sleep_for(kPauseForWriter);
    }
  }

  /// What lives was taken in by an earlier process.
  void go_on(Feed& feed) {
    // It may have ended in the middle of a track().
    skeleton_.bss->adopting = 0;
    rules_.forget_trees();
    if (options_.last_context != 0) note_context(options_.last_context);
    labels_.go_on();
    programs_.go_on(options_.told_until_ns);
    rings_.go_on_at(options_.released);
    begin(feed);
  }

  void begin(Feed& feed) {
    started_ = true;
    for (const auto& [pid, context_id] : std::exchange(tracked_early_, {})) {
      try {
        track(pid, context_id, feed);
      } catch (const Error&) {
        // It has ended by now.
      }
    }
  }

  std::size_t yield_adopted(Feed& feed) {
    std::size_t adopted = 0;
    visit(feed, [&](const tracer_wire_thread& thread) {
      if (thread.newly_adopted == 0) return;
      ++adopted;
      yield(thread, feed);
    });
    return adopted;
  }

  /// Gives each thread its turn between the records of the rings: what became of a process before it was visited comes
  /// before it, and what came after, after it.
  void yield_in_order(Threads threads, Feed& feed, const TakeThread& each) {
    for (const tracer_wire_thread& thread : threads) {
      rings_.give_until(thread.header.time_ns, [&](Bytes bytes) {
        yield(bytes, feed);
        return true;
      });
      each(thread);
      keep_up();
    }
  }

  void yield(Bytes bytes, Feed& feed) noexcept {
    WithMore with_more(feed, programs_);
    decoder_.feed(bytes, with_more);
  }

  void yield(const tracer_wire_thread& thread, Feed& feed) noexcept {
    yield(std::as_bytes(std::span(&thread, 1)), feed);
  }

  const KernelSourceOptions options_;
  KernelPrograms programs_;
  lifecycle_bpf& skeleton_;
  KernelRules rules_;
  KernelCounters counters_;
  KernelLabels labels_;
  KernelScopes scopes_;
  Rings rings_;
  Decoder decoder_;
  std::unique_ptr<LeftSide> left_;  ///< Until start().
  Counter gaps_;
  Counter failed_snapshots_;
  Counter unread_;
  bool started_ = false;
  std::vector<std::pair<pid_t, std::uint32_t>> tracked_early_;  ///< Before start().
  std::atomic<std::uint32_t> last_context_{0};                  ///< That a rule has given.
  std::atomic<std::uint64_t> misses_before_{0};  ///< Of programs of the same kind that others had before.
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<Source> kernel_source(const KernelSourceOptions& options) {
  return std::make_unique<KernelSource>(options);
}

}  // namespace tracer::internal
