// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_source.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/counter.hpp"
#include "base/ended_commands.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "source/proc/cgroup_files.hpp"
#include "source/proc/cgroup_memory.hpp"
#include "source/proc/pid_namespace.hpp"
#include "source/proc/poll_clock.hpp"
#include "source/proc/polled_processes.hpp"
#include "source/proc/proc_files.hpp"
#include "source/proc/proc_labels.hpp"
#include "source/proc/proc_memory.hpp"
#include "source/proc/proc_text.hpp"
#include "source/proc/process_choice.hpp"
#include "source/proc/process_search.hpp"

namespace tracer::internal {
namespace {

class ProcSource final : public Source, public Tracker, public Snapshots, public HostQuestions {
 public:
  explicit ProcSource(ProcSourceOptions options)
      : options_(checked(std::move(options))),
        files_(options_.root),
        choice_(options_),
        labels_(files_),
        clock_(options_.max_cost_share.value_or(PollClock::kDefaultShare)),
        processes_(files_, clock_, options_.max_processes),
        search_(files_, choice_, labels_, processes_),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
        ready_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!timer_ || !ready_) throw std::system_error(errno, std::generic_category());
    for (const int fd : {timer_.get(), processes_.fd()}) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        throw std::system_error(errno, std::generic_category());
    }
    if (!files_.forks() || !files_.load())
      throw Error({ErrorCode::kFileUnreadable,
                   0,
                   options_.root + " does not show the machine's own files, such as /proc/stat",
                   "mount it without subset=pid",
                   {}});
  }

  Tier tier() const noexcept override { return Tier::kProc; }
  bool filters() const noexcept override { return true; }
  bool wants_findings() const noexcept override { return true; }
  HostInfo host() const override { return this_host(); }
  int fd() const noexcept override { return ready_.get(); }
  bool finished() const noexcept override { return stopped_.load(); }
  Tracker* tracker() noexcept override { return this; }
  Snapshots* snapshots() noexcept override { return this; }
  HostQuestions* questions() noexcept override { return this; }

  void start(Feed& feed) override {
    last_looks_.emplace();
    processes_.start();
    started_ = true;
    search_.take_in_living(feed);
    for (const auto& [pid, context_id] : std::exchange(tracked_early_, {}))
      search_.track(static_cast<std::uint32_t>(pid), context_id, feed);
    arm();
  }

  bool drain(Feed& feed, const DrainLimit&) override {
    std::uint64_t expirations = 0;
    if (::read(timer_.get(), &expirations, sizeof expirations) < 0) expirations = 0;
    if (!started_) return false;
    processes_.take_ended(feed);
    const bool last = stopped_.load();
    const bool asked = asked_.exchange(false);
    if (labeled_.exchange(false)) clock_.changed(PollClock::Clock::now());
    if (expirations == 0 && !asked && !last) return false;
    begun_.add(1);
    const std::uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    search_.take_in_new(feed);
    processes_.look(feed, asked || last);
    clock_.cost(std::chrono::nanoseconds(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns));
    done_.add(1);
    // What is forked after the last search does not count, so that what was found then is not taken off twice.
    last ? processes_.stop() : arm();
    return false;
  }

  void settle(std::chrono::milliseconds) override { asked_.store(true); }
  std::uint64_t end_position() const noexcept override { return begun_.value() + 1; }
  std::uint64_t position() const noexcept override { return done_.value(); }
  void stop() override { stopped_.store(true); }

  void track(pid_t pid, std::uint32_t context_id, Feed& feed) override {
    Filter::Rule tree;
    tree.number = static_cast<std::uint64_t>(pid);
    require_named(tree, options_.own_uid_only);
    if (!started_) return static_cast<void>(tracked_early_.emplace_back(pid, context_id));
    search_.track(static_cast<std::uint32_t>(pid), context_id, feed);
  }

  void snapshot(Feed& feed, bool with_cgroups) override {
    const std::uint64_t time_ns = boot_time_ns();
    processes_.sample(feed);
    if (with_cgroups) {
      for (const auto& [pid, process] : processes_.all())
        if (!process.told_end && process.identity().cgroup_id != 0)
          cgroups_.saw(pid, process.identity().hierarchy, process.identity().cgroup_id);
      const auto tracks = [this](std::uint32_t pid) { return processes_.contains(pid); };
      cgroups_.read(
          feed, [&tracks] { return tracks; }, [] {});
    }
    feed.snapshot_end(time_ns);
  }

  void shed(Family family, const Problem& problem) override {
    const std::lock_guard lock(shed_mutex_);
    shed_.insert_or_assign(family, problem);
  }

  std::optional<std::uint64_t> pss_bytes(std::uint32_t pid, std::uint64_t huge_sharers) override {
    return read_pss_bytes(pid, huge_sharers);
  }
  std::optional<std::string> cgroup_path(Hierarchy hierarchy, std::uint64_t id) const override {
    return knows_cgroup_paths() ? internal::cgroup_path(hierarchy, id) : std::nullopt;
  }

  std::uint64_t open_label(pid_t tid, std::uint32_t context_id) override {
    const std::uint64_t serial = labels_.open(tid, context_id);
    // Something is about to begin.
    labeled_.store(true);
    arm_for(std::chrono::milliseconds(1));
    return serial;
  }
  bool close_label(std::uint64_t serial) noexcept override { return labels_.close(serial); }
  void resume_label(pid_t tid, std::uint64_t serial) noexcept override { labels_.resume(tid, serial); }
  void disown_thread(pid_t tid) noexcept override { labels_.disown(tid); }

  std::vector<std::uint32_t> unused_contexts(std::vector<std::uint32_t> ids) const override {
    std::set<std::uint32_t> used;
    for (const std::uint32_t id : labels_.used()) used.insert(id);
    for (const auto& [pid, process] : processes_.all()) used.insert(process.identity().context_id);
    std::erase_if(ids, [&](std::uint32_t id) { return used.contains(id); });
    return ids;
  }
  void forget_context(std::uint32_t id) override { processes_.forget_context(id); }
  std::vector<RawTotals> totals() const override { return processes_.totals(); }

  std::vector<FamilyState> families() const override {
    const std::lock_guard lock(shed_mutex_);
    const std::string mechanism = "polling " + options_.root;
    std::vector<FamilyState> states = {{Family::kLifecycle, true, mechanism, unseen(Family::kLifecycle)}};
    for (const Family family : options_.families) {
      if (family == Family::kLifecycle) continue;
      const auto shed = shed_.find(family);
      if (shed != shed_.end()) {
        states.push_back({family, false, {}, shed->second});
      } else if (family == Family::kSnapshots) {
        states.push_back({family, true, mechanism, {}});
      } else {
        states.push_back({family, false, {}, unseen(family)});
      }
    }
    return states;
  }

  Counters counters() const override {
    Counters counters;
    if (const std::uint64_t refused = processes_.refused(); refused != 0)
      counters.losses["process_table_full"] = refused;
    counters.missed_at_most = processes_.missed_at_most();
    return counters;
  }

 private:
  static ProcSourceOptions checked(ProcSourceOptions options) {
    for (const SourceRule& each : options.rules) require_named(each.rule, options.own_uid_only);
    const auto status = read_small_file(options.root + "/self/status");
    if (status && !shows_own_namespace(*status))
      throw Error({ErrorCode::kPidNamespace,
                   0,
                   options.root + " belongs to another pid namespace than this process",
                   "mount the namespace's own: unshare --mount-proc, or mount -t proc proc /proc",
                   {}});
    return options;
  }

  static std::optional<Problem> unseen(Family family) {
    return Problem{ErrorCode::kPermission,
                   0,
                   family == Family::kLifecycle ? "processes that lived between two looks are not seen"
                                                : "the proc tier can't see this",
                   "use root, CAP_BPF and CAP_PERFMON, or the service (tracerd serve)",
                   {}};
  }

  void arm_for(std::chrono::nanoseconds left) const noexcept {
    constexpr std::chrono::nanoseconds::rep kPerSecond = 1'000'000'000;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(left.count() / kPerSecond);
    when.it_value.tv_nsec = static_cast<long>(left.count() % kPerSecond);
    ::timerfd_settime(timer_.get(), 0, &when, nullptr);
  }

  void arm() const noexcept {
    const auto now = PollClock::Clock::now();
    arm_for(std::max<std::chrono::nanoseconds>(clock_.next(now) - now, std::chrono::microseconds(1)));
  }

  const ProcSourceOptions options_;
  const ProcFiles files_;
  const ProcessChoice choice_;
  ProcLabels labels_;
  PollClock clock_;
  PolledProcesses processes_;
  ProcessSearch search_;
  UniqueFd timer_;
  UniqueFd ready_;
  CgroupMemoryReader cgroups_;
  std::optional<LastLooksWanted> last_looks_;
  bool started_ = false;
  std::vector<std::pair<pid_t, std::uint32_t>> tracked_early_;  ///< Before start().
  std::atomic<bool> stopped_{false};
  std::atomic<bool> asked_{false};    ///< Whoever flushes waits for a look at everything.
  std::atomic<bool> labeled_{false};  ///< A label was opened.
  Counter begun_;
  Counter done_;
  mutable std::mutex shed_mutex_;
  std::map<Family, Problem> shed_;
};

}  // namespace

std::unique_ptr<Source> proc_source(ProcSourceOptions options) {
  return std::make_unique<ProcSource>(std::move(options));
}

}  // namespace tracer::internal
