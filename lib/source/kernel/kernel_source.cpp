// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/kernel_source.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/unique_fd.hpp"
#include "wire.h"

#include "lifecycle.skel.h"
#include "source/kernel/cgroup_files.hpp"
#include "source/kernel/cgroup_memory.hpp"
#include "source/kernel/kernel_counters.hpp"
#include "source/kernel/iterator.hpp"
#include "source/kernel/kernel_programs.hpp"
#include "source/kernel/libbpf_log.hpp"
#include "source/kernel/proc_text.hpp"

namespace tracer {
namespace {

/// The reader looks at the ring this often; in between the kernel wakes it only when the ring fills.
constexpr long kPollPeriodNs = 100'000'000;

struct RingCloser {
  void operator()(ring_buffer* ring) const noexcept { ::ring_buffer__free(ring); }
};

class KernelSource final : public Source {
 public:
  explicit KernelSource(const KernelSourceOptions& options)
      : options_(checked(options)), programs_(options_), skeleton_(programs_.lifecycle()) {
    watch_ring();
  }

  void start(Receiver& receiver) override {
    receiver_ = &receiver;
    programs_.attach();
    counters_->start();
    for (const auto& rule : options_.rules) add_rule(rule);
    adopt(receiver);
    forget_tree_rules();
  }

  int fd() const noexcept override { return epoll_.get(); }

  void poll(Receiver& receiver) override {
    receiver_ = &receiver;
    std::uint64_t ticks = 0;
    [[maybe_unused]] const ssize_t got = ::read(timer_.get(), &ticks, sizeof ticks);
    skeleton_.bss->reader_woken = 0;
    consume_ring();
  }

  bool finished() const noexcept override { return stopped_; }

  void stop() override {
    settle();
    programs_.detach();
    stopped_ = true;
  }

  void sample(Receiver& receiver) override {
    visit_living(receiver);
    if (programs_.snapshots() != nullptr) programs_.snapshots()->read(receiver);
  }

  void sample_cgroups(Receiver& receiver) override {
    if (options_.snapshots) cgroup_memory_.read(receiver, [this](std::uint32_t pid) { return counters_->tracks(pid); });
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
  std::vector<RawTotals> totals() const override { return counters_->totals(last_context_); }
  std::vector<SignalState> signals() const override { return programs_.signals(); }

  std::map<Family, std::uint64_t> kernel_ns() const override { return programs_.kernel_ns(); }
  std::optional<std::uint64_t> kernel_memory_bytes() const override { return programs_.memory_bytes(); }
  void shed(Family family, const Problem& problem) override { programs_.shed(family, problem); }
  HostInfo host() const override { return this_host(); }

 private:
  static const KernelSourceOptions& checked(const KernelSourceOptions& options) {
    for (const auto& rule : options.rules) require_named(rule.rule, options.own_uid_only);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < page)
      throw Error({ErrorCode::kInvalidArgument,
                   0,
                   fmt::format("a ring of {} bytes is not possible", options.ring_bytes),
                   "use a power of two of at least a page",
                   {}});
    if (options.max_processes == 0 || options.max_contexts == 0)
      throw Error({ErrorCode::kInvalidArgument, 0, "max_processes and max_contexts must be at least 1", {}, {}});
    return options;
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

  void watch_ring() {
    const LibbpfLog log;
    try {
      counters_.emplace(*skeleton_.obj, programs_.waits() != nullptr ? &programs_.waits()->object() : nullptr);
    } catch (const std::system_error& error) {
      refuse("map the process table", error.code().value(), log);
    }
    ring_.reset(::ring_buffer__new(::bpf_map__fd(skeleton_.maps.events), &KernelSource::on_ring, this, nullptr));
    if (!ring_) refuse("map the ring", errno, log);
    make_pollable(log);
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

  static std::uint64_t time_of(std::span<const std::byte> record) {
    tracer_wire_header header{};
    if (record.size() >= sizeof header) std::memcpy(&header, record.data(), sizeof header);
    return header.time_ns;
  }

  static int on_ring(void* self, void* data, std::size_t size) {
    auto& source = *static_cast<KernelSource*>(self);
    const std::span record(static_cast<const std::byte*>(data), size);
    source.yield_visited(time_of(record));
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
    last_context_ = std::max(last_context_, rule.context_id);
    const tracer_rule value{rule.rule.include ? std::uint32_t{TRACER_RULE_INCLUDE} : std::uint32_t{TRACER_RULE_EXCLUDE},
                            rule.context_id};
    const auto number = static_cast<std::uint32_t>(rule.rule.number);
    switch (rule.rule.subject) {
      case Filter::Subject::kTree: put(skeleton_.maps.tree_rules, number, value); break;
      case Filter::Subject::kUid: put(skeleton_.maps.uid_rules, number, value); break;
      case Filter::Subject::kCgroup:
        if (const auto top = find_cgroup(rule.rule.text))
          walk_cgroups(*top, [&](const CgroupFolder& folder) {
            put(skeleton_.maps.cgroup_rules, tracer_cgroup_key{folder.id, folder.hierarchy, 0}, value);
          });
        break;
      default: break;
    }
  }

  /// They are carried out, and their pids may come again.
  void forget_tree_rules() const {
    const int map = ::bpf_map__fd(skeleton_.maps.tree_rules);
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
    skeleton_.bss->adopting = 1;
    for (int pass = 0; pass < kMostPasses; ++pass)
      if (visit_living(receiver).adopted == 0) break;
    skeleton_.bss->adopting = 0;
  }

  /// Yields what is in the ring. Not within itself: libbpf would give the same records again.
  void consume_ring() {
    if (consuming_) return;
    consuming_ = true;
    ::ring_buffer__consume(ring_.get());
    consuming_ = false;
  }

  struct Visit {
    std::size_t living = 0;   ///< Processes.
    std::size_t adopted = 0;  ///< Of these, taken in by this visit.
  };

  /// Yields a record for each living thread, each in its place between the records of the ring: what became of a
  /// process before it was visited comes before it, and what came after, after it. Called within a callback, all come
  /// at once.
  Visit visit_living(Receiver& receiver) {
    receiver_ = &receiver;
    Visit visit;
    std::set<std::uint32_t> pids;
    std::deque<tracer_wire_thread> threads;
    for (const auto& thread : read_iterator_as<tracer_wire_thread>(skeleton_.links.living_tasks)) {
      threads.push_back(thread);
      if (thread.newly_adopted != 0) ++visit.adopted;
      pids.insert(thread.header.pid);
    }
    visit.living = pids.size();
    if (visiting_ || consuming_) {
      yield_at_once(threads);
      return visit;
    }
    visiting_ = true;
    visited_ = std::move(threads);
    consume_ring();
    yield_visited(std::numeric_limits<std::uint64_t>::max());
    visiting_ = false;
    return visit;
  }

  /// Those that a visit has taken in that is still being yielded get their words here, too.
  void yield_at_once(const std::deque<tracer_wire_thread>& threads) {
    std::set<std::uint32_t> untold;
    for (const tracer_wire_thread& thread : visited_)
      if (thread.newly_adopted != 0) untold.insert(thread.header.pid);
    for (const tracer_wire_thread& thread : threads) {
      if (untold.erase(thread.header.pid) != 0) yield_text(thread);
      yield(thread);
    }
  }

  /// Those that were visited before then.
  void yield_visited(std::uint64_t time_ns) {
    while (!visited_.empty() && visited_.front().header.time_ns < time_ns) {
      const tracer_wire_thread thread = visited_.front();
      visited_.pop_front();
      yield(thread);
    }
  }

  void yield(const tracer_wire_thread& thread) {
    if (thread.newly_adopted != 0) yield_text(thread);
    receiver_->on_record(std::as_bytes(std::span(&thread, 1)));
    cgroup_memory_.saw(thread);
  }

  void yield_text(const tracer_wire_thread& thread) {
    receiver_->on_record(proc_text(thread.header.pid, thread.header.start_ns, thread.identity.hierarchy));
  }

  KernelSourceOptions options_;
  KernelPrograms programs_;
  lifecycle_bpf& skeleton_;
  CgroupMemoryReader cgroup_memory_;
  std::unique_ptr<ring_buffer, RingCloser> ring_;
  std::optional<KernelCounters> counters_;
  std::deque<tracer_wire_thread> visited_;  ///< By an iterator, in the order of time; not yielded yet.
  std::uint32_t last_context_ = 0;          ///< That a rule has given.
  bool consuming_ = false;
  bool visiting_ = false;
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
