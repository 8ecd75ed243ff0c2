// SPDX-License-Identifier: Apache-2.0
#include "source/kernel_source.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/unique_fd.hpp"
#include "wire.h"

#include "lifecycle.skel.h"
#include "source/cgroup_files.hpp"
#include "source/kernel_counters.hpp"
#include "source/iterator.hpp"
#include "source/kernel_support.hpp"
#include "source/libbpf_log.hpp"
#include "source/object_usage.hpp"
#include "source/proc_text.hpp"
#include "source/snapshot_family.hpp"
#include "source/waits_family.hpp"
#include "source/call_causes.hpp"

namespace tracer {
namespace {

/// The reader looks at the ring this often; in between the kernel wakes it only when the ring fills.
constexpr long kPollPeriodNs = 100'000'000;

struct SkeletonCloser {
  void operator()(lifecycle_bpf* skeleton) const noexcept { ::lifecycle_bpf__destroy(skeleton); }
};
struct RingCloser {
  void operator()(ring_buffer* ring) const noexcept { ::ring_buffer__free(ring); }
};

class KernelSource final : public Source {
 public:
  explicit KernelSource(const KernelSourceOptions& options) : options_(options) {
    require_support();
    load();
  }

  void start(Receiver& receiver) override {
    receiver_ = &receiver;
    if (waits_) waits_->attach();
    {
      const LibbpfLog log;
      if (const int failed = ::lifecycle_bpf__attach(skeleton_.get())) refuse("attach the programs", -failed, log);
    }
    counters_->start();
    visit_cpus();
    for (const auto& rule : options_.rules) add_rule(rule);
    adopt(receiver);
    forget_tree_rules();
  }

  int fd() const noexcept override { return epoll_.get(); }

  void poll(Receiver& receiver) override {
    receiver_ = &receiver;
    std::uint64_t ticks = 0;
    [[maybe_unused]] const ssize_t got = ::read(timer_.get(), &ticks, sizeof ticks);
    skeleton_->bss->reader_woken = 0;
    ::ring_buffer__consume(ring_.get());
  }

  bool finished() const noexcept override { return stopped_; }

  void stop() override {
    settle();
    // All but the iterator, with which those that still live are visited afterwards.
    auto& links = skeleton_->links;
    for (bpf_link** link :
         {&links.process_fork, &links.process_prepare_exec, &links.process_exec, &links.process_exit,
          &links.thread_switch, &links.cgroup_created, &links.cgroup_removed, &links.cgroup_attached}) {
      ::bpf_link__destroy(*link);
      *link = nullptr;
    }
    if (waits_) waits_->detach();
    stopped_ = true;
  }

  void sample(Receiver& receiver) override {
    visit_living(receiver);
    if (snapshots_) snapshots_->read(receiver);
  }

  void track(pid_t pid, std::uint32_t context_id, Receiver& receiver) override {
    KernelSourceOptions::Rule rule;
    rule.rule.number = static_cast<std::uint64_t>(pid);
    rule.context_id = context_id;
    require_named(rule.rule, options_.own_uid_only);
    add_rule(rule);
    adopt(receiver);
    forget_tree_rules();
  }

  std::map<std::string, std::uint64_t> losses() const override { return counters_->losses(); }
  std::vector<RawTotals> totals() const override { return counters_->totals(); }
  std::vector<SignalState> signals() const override { return signals_; }

  std::map<Family, std::uint64_t> kernel_ns() const override {
    std::map<Family, std::uint64_t> times;
    if (!programs_are_timed()) return times;
    times[Family::kLifecycle] = sums_of_programs(*skeleton_->obj).run_ns;
    if (waits_) times[Family::kWaits] = sums_of_programs(waits_->object()).run_ns;
    if (snapshots_) times[Family::kSnapshots] = sums_of_programs(snapshots_->object()).run_ns;
    return times;
  }

  std::optional<std::uint64_t> kernel_memory_bytes() const override {
    return map_memory_bytes(
        {skeleton_->obj, waits_ ? &waits_->object() : nullptr, snapshots_ ? &snapshots_->object() : nullptr});
  }

  void shed(Family family, const Problem& problem) override {
    if (family == Family::kWaits && waits_) waits_->detach();
    if (family == Family::kSnapshots) snapshots_.reset();
    for (SignalState& state : signals_) {
      if (state.family != family) continue;
      state.active = false;
      state.problem = problem;
    }
  }
  HostInfo host() const override { return this_host(); }

 private:
  void require_support() const {
    std::vector<Problem> problems;
    for (CheckItem& item : check_kernel(types_).items)
      if (item.required && !item.available && item.problem) problems.push_back(std::move(*item.problem));
    if (!problems.empty()) throw Error(std::move(problems));
    for (const auto& rule : options_.rules) require_named(rule.rule, options_.own_uid_only);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!std::has_single_bit(options_.ring_bytes) || options_.ring_bytes < page)
      throw Error({ErrorCode::kInvalidArgument,
                   0,
                   fmt::format("a ring of {} bytes is not possible", options_.ring_bytes),
                   "use a power of two of at least a page",
                   {}});
    if (options_.max_processes == 0 || options_.max_contexts == 0)
      throw Error({ErrorCode::kInvalidArgument, 0, "max_processes and max_contexts must be at least 1", {}, {}});
  }

  static void require_named(const Filter::Rule& rule, bool own_uid_only) {
    if (rule.subject == Filter::Subject::kTree) {
      const auto pid = static_cast<pid_t>(rule.number);
      const bool there = pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
      if (there && own_uid_only && errno == EPERM && ::kill(pid, 0) != 0)
        throw Error({ErrorCode::kPermission,
                     EPERM,
                     fmt::format("process {} is another user's", rule.number),
                     "use sudo: without root only your own processes can be followed",
                     {}});
      if (there) return;
      throw Error({ErrorCode::kFilterNamesNothing,
                   0,
                   fmt::format("there is no process {}", rule.number),
                   "name a living process of this host's pid namespace",
                   {}});
    }
    if (rule.subject == Filter::Subject::kCgroup && !find_cgroup(rule.text))
      throw Error({ErrorCode::kFilterNamesNothing,
                   0,
                   fmt::format("there is no cgroup {}", rule.text),
                   "give its path as in /proc/PID/cgroup, or its folder below a mounted cgroup file system",
                   {}});
  }

  std::uint32_t places() const { return static_cast<std::uint32_t>(std::bit_ceil(options_.max_processes)); }

  void load() {
    signals_.push_back({Family::kLifecycle, true, "tp_btf: sched_process_fork, _exec, _exit, sched_switch", {}});
    if (options_.waits) load_with_waits();
    if (!skeleton_) load_lifecycle();
    finish_loading();
    if (options_.snapshots) load_snapshots();
  }

  /// A family that the kernel refuses is left out, and says why.
  void load_with_waits() {
    SignalState state{Family::kWaits, false, "tp_btf: sched_switch, sched_waking, mm_vmscan_*_reclaim_*", {}};
    try {
      waits_.emplace(types_, places());
      load_lifecycle();
      state.active = true;
    } catch (const Error& error) {
      skeleton_.reset();
      waits_.reset();
      if (!error.problems().empty()) state.problem = error.problems().front();
    }
    signals_.push_back(std::move(state));
  }

  /// Without it samples have no progress.
  void load_snapshots() {
    SignalState state{Family::kSnapshots, true, "iter/task, iter/task_file", {}};
    try {
      snapshots_.emplace(*skeleton_->obj, places());
    } catch (const Error& error) {
      if (!error.problems().empty()) state.problem = error.problems().front();
    }
    signals_.push_back(std::move(state));
  }

  void load_lifecycle() {
    {
      const LibbpfLog log;
      skeleton_.reset(::lifecycle_bpf__open());
      if (!skeleton_) refuse("open the programs", errno, log);
    }
    configure();
    if (waits_) waits_->share_with(*skeleton_->obj);
    const LibbpfLog log;
    if (const int failed = ::lifecycle_bpf__load(skeleton_.get())) refuse("load the programs", -failed, log);
  }

  void finish_loading() {
    const LibbpfLog log;
    if (const int prog = ::bpf_program__fd(skeleton_->progs.find_cpu_offsets); prog >= 0) {
      LIBBPF_OPTS(bpf_test_run_opts, run);
      ::bpf_prog_test_run_opts(prog, &run);
    }
    try {
      counters_.emplace(*skeleton_->obj);
    } catch (const std::system_error& error) {
      refuse("map the process table", error.code().value(), log);
    }
    ring_.reset(::ring_buffer__new(::bpf_map__fd(skeleton_->maps.events), &KernelSource::on_ring, this, nullptr));
    if (!ring_) refuse("map the ring", errno, log);
    make_pollable(log);
  }

  void configure() {
    auto* rodata = skeleton_->rodata;
    const CgroupLayout layout = cgroup_layout();
    rodata->track_all = options_.track_all ? 1 : 0;
    rodata->memory_is_v1 = layout.memory_is_v1 ? 1 : 0;
    rodata->pids_is_v1 = layout.pids_is_v1 ? 1 : 0;
    rodata->cpu_count = static_cast<std::uint32_t>(std::clamp(::libbpf_num_possible_cpus(), 1, 1024));
    rodata->wakeup_bytes = options_.ring_bytes / 8;
    rodata->own_uid_only = options_.own_uid_only ? 1 : 0;
    rodata->own_uid = ::geteuid();
    for (const auto& rule : options_.rules) {
      if (rule.rule.subject == Filter::Subject::kUid) rodata->use_uid_rules = 1;
      if (rule.rule.subject == Filter::Subject::kCgroup) rodata->use_cgroup_rules = 1;
    }
    ::bpf_map__set_max_entries(skeleton_->maps.events, static_cast<std::uint32_t>(options_.ring_bytes));
    rodata->slot_mask = places() - 1;
    ::bpf_map__set_max_entries(skeleton_->maps.processes, places());
    ::bpf_map__set_max_entries(skeleton_->maps.displaced_processes, std::max(places() / 4, 1u));
    // Only for those with several threads, and those that lived before.
    ::bpf_map__set_max_entries(skeleton_->maps.ended_threads, std::max(places() / 2, std::min(places() * 2, 4096u)));
    if (waits_) {
      rodata->keep_ledgers = 1;
      rodata->thread_mask = places() - 1;
      fill_call_causes(std::span(rodata->call_causes));
      ::bpf_map__set_max_entries(skeleton_->maps.threads, places());
      ::bpf_map__set_max_entries(skeleton_->maps.displaced_threads, places() / 4 + 1);
    }
    ::bpf_map__set_max_entries(skeleton_->maps.totals, static_cast<std::uint32_t>(options_.max_contexts));

    const auto only_if = [](bool wanted, bpf_program* program) { ::bpf_program__set_autoload(program, wanted); };
    only_if(types_.has_tracepoint("sched_prepare_exec"), skeleton_->progs.process_prepare_exec);
    only_if(types_.has_per_cpu_rss(), skeleton_->progs.find_cpu_offsets);
    only_if(rodata->use_cgroup_rules != 0, skeleton_->progs.cgroup_removed);
    ::bpf_program__set_autoattach(skeleton_->progs.find_cpu_offsets, false);
  }

  /// One descriptor that is readable when the kernel woke us or the period is over.
  void make_pollable(const LibbpfLog& log) {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    itimerspec period{};
    period.it_interval.tv_nsec = kPollPeriodNs;
    period.it_value.tv_nsec = kPollPeriodNs;
    epoll_event interest{};
    interest.events = EPOLLIN;
    if (!epoll_ || !timer_ || ::timerfd_settime(timer_.get(), 0, &period, nullptr) != 0 ||
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &interest) != 0 ||
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ::ring_buffer__epoll_fd(ring_.get()), &interest) != 0)
      refuse("watch the ring", errno, log);
  }

  static int on_ring(void* self, void* data, std::size_t size) {
    auto& source = *static_cast<KernelSource*>(self);
    const std::span record(static_cast<const std::byte*>(data), size);
    source.add_text(record);
    source.receiver_->on_record(record);
    return 0;
  }

  /// A process that is taken in in the middle of its life brings no words along: /proc has them.
  void add_text(std::span<const std::byte> record) {
    tracer_wire_process_start start;
    if (record.size() < sizeof start) return;
    std::memcpy(&start, record.data(), sizeof start);
    if (start.header.kind != TRACER_WIRE_PROCESS_START || (start.flags & TRACER_FLAG_ADOPTED_LIFE) == 0 ||
        (start.flags & TRACER_FLAG_AT_EXEC) != 0)
      return;
    receiver_->on_record(proc_text(start.header.pid, start.header.start_ns, start.identity.hierarchy));
  }

  /// Lets this thread be switched on each CPU until the kernel side has seen its clock: see exact_run_time in
  /// accounts.h.
  void visit_cpus() const {
    constexpr int kMostSwitches = 200;
    cpu_set_t before;
    if (::sched_getaffinity(0, sizeof before, &before) != 0) return;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE && cpu < TRACER_MAX_CPUS; ++cpu) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      if (!CPU_ISSET(cpu, &before) || ::sched_setaffinity(0, sizeof one, &one) != 0) continue;
      const volatile auto& seen_ns = skeleton_->bss->cpus[cpu].seen_ns;
      for (int n = 0; n < kMostSwitches && seen_ns == 0; ++n) ::usleep(1);
    }
    ::sched_setaffinity(0, sizeof before, &before);
  }

  /// Lets those that have been reaped reach their last switch, a moment after their parents have heard of their end.
  void settle() {
    constexpr int kMostRounds = 50;
    for (int round = 0; round < kMostRounds; ++round) {
      std::uint64_t unended = 0;
      for (const auto& [context, count] : counters_->unended_by_context()) unended += count;
      if (unended <= visit_living(*receiver_).living) return;
      ::usleep(2000);
    }
  }

  void add_rule(const KernelSourceOptions::Rule& rule) {
    const tracer_rule value{rule.rule.include ? std::uint32_t{TRACER_RULE_INCLUDE} : std::uint32_t{TRACER_RULE_EXCLUDE},
                            rule.context_id};
    const auto number = static_cast<std::uint32_t>(rule.rule.number);
    switch (rule.rule.subject) {
      case Filter::Subject::kTree: put(skeleton_->maps.tree_rules, number, value); break;
      case Filter::Subject::kUid: put(skeleton_->maps.uid_rules, number, value); break;
      case Filter::Subject::kCgroup:
        if (const auto top = find_cgroup(rule.rule.text))
          walk_cgroups(*top, [&](const CgroupFolder& folder) {
            put(skeleton_->maps.cgroup_rules, tracer_cgroup_key{folder.id, folder.hierarchy, 0}, value);
          });
        break;
      default: break;
    }
  }

  /// They are carried out, and their pids may come again.
  void forget_tree_rules() const {
    const int map = ::bpf_map__fd(skeleton_->maps.tree_rules);
    std::uint32_t pid = 0;
    while (::bpf_map_get_next_key(map, nullptr, &pid) == 0) ::bpf_map_delete_elem(map, &pid);
  }

  template <class Key, class Value>
  static void put(const bpf_map* map, const Key& key, const Value& value) {
    if (::bpf_map__update_elem(map, &key, sizeof key, &value, sizeof value, BPF_ANY) == 0) return;
    throw Error({ErrorCode::kInvalidArgument,
                 errno,
                 "the filter has more rules than the kernel side holds",
                 "use at most 1024 trees, 1024 users and 16384 cgroups",
                 {}});
  }

  /// Takes in what the rules name; repeated, as a child may be visited before its parent is taken in.
  void adopt(Receiver& receiver) {
    constexpr int kMostPasses = 16;
    for (int pass = 0; pass < kMostPasses; ++pass)
      if (visit_living(receiver).adopted == 0) return;
  }

  struct Visit {
    std::size_t living = 0;   ///< Processes.
    std::size_t adopted = 0;  ///< Of these, taken in by this visit.
  };

  /// Yields a record for each living thread.
  Visit visit_living(Receiver& receiver) {
    receiver_ = &receiver;
    Visit visit;
    std::set<std::uint32_t> pids;
    for (const tracer_wire_thread& thread : read_iterator_as<tracer_wire_thread>(skeleton_->links.living_tasks)) {
      if (thread.newly_adopted != 0) {
        ++visit.adopted;
        receiver.on_record(proc_text(thread.header.pid, thread.header.start_ns, thread.identity.hierarchy));
      }
      receiver.on_record(std::as_bytes(std::span(&thread, 1)));
      pids.insert(thread.header.pid);
    }
    visit.living = pids.size();
    return visit;
  }

  KernelSourceOptions options_;
  KernelTypes types_;
  std::optional<WaitsFamily> waits_;
  std::unique_ptr<lifecycle_bpf, SkeletonCloser> skeleton_;
  std::optional<SnapshotFamily> snapshots_;
  std::vector<SignalState> signals_;
  std::unique_ptr<ring_buffer, RingCloser> ring_;
  std::optional<KernelCounters> counters_;
  UniqueFd timer_;
  UniqueFd epoll_;
  Receiver* receiver_ = nullptr;
  std::atomic<bool> stopped_{false};  ///< Asked for from any thread.
};

}  // namespace

std::unique_ptr<Source> kernel_source(const KernelSourceOptions& options) {
  return std::make_unique<KernelSource>(options);
}

}  // namespace tracer
