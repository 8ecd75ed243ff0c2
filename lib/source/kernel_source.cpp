// SPDX-License-Identifier: Apache-2.0
#include "source/kernel_source.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "base/unique_fd.hpp"
#include "wire.h"

#include "lifecycle.skel.h"
#include "source/cgroup_files.hpp"
#include "source/kernel_support.hpp"
#include "source/proc_text.hpp"

namespace tracer {
namespace {

/// The reader looks at the ring this often; in between the kernel wakes it only when the ring fills.
constexpr long kPollPeriodNs = 100'000'000;
constexpr std::size_t kLogTailBytes = 1500;

constexpr std::array<const char*, TRACER_LOSS_CAUSES> kLossNames = {
    "ring_full_process_start", "ring_full_process_exec", "ring_full_process_exit", "ring_full_cgroup", "process_table_full",
    "thread_table_full", "cgroup_table_full"};

/// What libbpf says while loading, for the error's detail; the library itself never prints.
class LibbpfLog {
 public:
  LibbpfLog() : lock_(mutex_), before_(::libbpf_set_print(&LibbpfLog::take)) { text_.clear(); }
  ~LibbpfLog() { ::libbpf_set_print(before_); }
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  std::string tail() const {
    return text_.size() <= kLogTailBytes ? text_ : "…" + text_.substr(text_.size() - kLogTailBytes);
  }

 private:
  static int take(enum libbpf_print_level level, const char* format, va_list arguments) {
    if (level == LIBBPF_DEBUG) return 0;
    va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (size <= 0) return size;
    const std::size_t old = text_.size();
    text_.resize(old + static_cast<std::size_t>(size) + 1);
    std::vsnprintf(text_.data() + old, static_cast<std::size_t>(size) + 1, format, arguments);
    text_.pop_back();
    return size;
  }

  static inline std::mutex mutex_;
  static inline std::string text_;
  std::lock_guard<std::mutex> lock_;
  libbpf_print_fn_t before_;
};

struct SkeletonCloser {
  void operator()(lifecycle_bpf* skeleton) const noexcept { ::lifecycle_bpf__destroy(skeleton); }
};
struct RingCloser {
  void operator()(ring_buffer* ring) const noexcept { ::ring_buffer__free(ring); }
};

struct Unmapper {
  std::size_t bytes = 0;
  void operator()(const tracer_slot* slots) const noexcept { ::munmap(const_cast<tracer_slot*>(slots), bytes); }
};

[[noreturn]] void refuse(const char* what, int error_number, const LibbpfLog& log) {
  const bool memory = error_number == ENOMEM;
  throw Error({memory ? ErrorCode::kNoMemory : ErrorCode::kProgramRefused, error_number,
               fmt::format("the kernel refused to {}", what),
               memory ? "free some memory, or ask for a smaller ring and fewer processes"
                      : "run `tracerd check`; report the detail if it finds nothing missing",
               log.tail()});
}

class KernelSource final : public Source {
 public:
  explicit KernelSource(const KernelSourceOptions& options) : options_(options) {
    require_support();
    load();
  }

  void start(Receiver& receiver) override {
    receiver_ = &receiver;
    {
      const LibbpfLog log;
      if (const int failed = ::lifecycle_bpf__attach(skeleton_.get())) refuse("attach the programs", -failed, log);
    }
    started_with_misses_ = recursion_misses();
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
    for (bpf_link** link : {&links.process_fork, &links.process_prepare_exec, &links.process_exec, &links.process_exit,
                            &links.thread_switch, &links.cgroup_created, &links.cgroup_removed, &links.cgroup_attached}) {
      ::bpf_link__destroy(*link);
      *link = nullptr;
    }
    stopped_ = true;
  }

  void sample(Receiver& receiver) override { visit_living(receiver); }

  void track(pid_t pid, std::uint32_t context_id, Receiver& receiver) override {
    KernelSourceOptions::Rule rule;
    rule.rule.number = static_cast<std::uint64_t>(pid);
    rule.context_id = context_id;
    require_named(rule.rule);
    add_rule(rule);
    adopt(receiver);
    forget_tree_rules();
  }

  std::map<std::string, std::uint64_t> losses() const override {
    std::map<std::string, std::uint64_t> losses;
    for (std::uint32_t cause = 0; cause < TRACER_LOSS_CAUSES; ++cause) {
      std::uint64_t sum = 0;
      for_each_cpu_value<std::uint64_t>(skeleton_->maps.losses, cause, [&](std::uint64_t value) { sum += value; });
      if (sum != 0) losses[kLossNames[cause]] = sum;
    }
    const std::uint64_t missed = recursion_misses() - started_with_misses_;
    if (missed != 0) losses["kernel_recursion"] = missed;
    return losses;
  }

  std::vector<RawTotals> totals() const override {
    std::vector<RawTotals> all;
    std::map<std::uint32_t, std::uint64_t> living = unended_by_context();
    for (std::uint32_t id = 0; id < options_.max_contexts; ++id) {
      tracer_context_totals sum{};
      for_each_cpu_value<tracer_context_totals>(skeleton_->maps.totals, id,
                                                [&](const tracer_context_totals& value) { add_words(sum, value); });
      if (sum.ended == 0 && living[id] == 0) continue;
      RawTotals totals{id, living[id], std::vector<std::byte>(sizeof sum)};
      std::memcpy(totals.bytes.data(), &sum, sizeof sum);
      all.push_back(std::move(totals));
    }
    return all;
  }

  HostInfo host() const override { return this_host(); }

 private:
  void require_support() const {
    std::vector<Problem> problems;
    for (CheckItem& item : check_kernel(types_).items)
      if (item.required && !item.available && item.problem) problems.push_back(std::move(*item.problem));
    if (!problems.empty()) throw Error(std::move(problems));
    for (const auto& rule : options_.rules) require_named(rule.rule);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (!std::has_single_bit(options_.ring_bytes) || options_.ring_bytes < page)
      throw Error({ErrorCode::kInvalidArgument, 0, fmt::format("a ring of {} bytes is not possible", options_.ring_bytes),
                   "use a power of two of at least a page", {}});
    if (options_.max_processes == 0 || options_.max_contexts == 0)
      throw Error({ErrorCode::kInvalidArgument, 0, "max_processes and max_contexts must be at least 1", {}, {}});
  }

  static void require_named(const Filter::Rule& rule) {
    if (rule.subject == Filter::Subject::kTree) {
      const auto pid = static_cast<pid_t>(rule.number);
      if (pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM)) return;
      throw Error({ErrorCode::kFilterNamesNothing, 0, fmt::format("there is no process {}", rule.number),
                   "name a living process of this host's pid namespace", {}});
    }
    if (rule.subject == Filter::Subject::kCgroup && !find_cgroup(rule.text))
      throw Error({ErrorCode::kFilterNamesNothing, 0, fmt::format("there is no cgroup {}", rule.text),
                   "give its path as in /proc/PID/cgroup, or its folder below a mounted cgroup file system", {}});
  }

  void load() {
    const LibbpfLog log;
    skeleton_.reset(::lifecycle_bpf__open());
    if (!skeleton_) refuse("open the programs", errno, log);
    configure();
    if (const int failed = ::lifecycle_bpf__load(skeleton_.get())) refuse("load the programs", -failed, log);
    if (const int prog = ::bpf_program__fd(skeleton_->progs.find_cpu_offsets); prog >= 0) {
      LIBBPF_OPTS(bpf_test_run_opts, run);
      ::bpf_prog_test_run_opts(prog, &run);
    }
    const std::size_t slot_bytes = ::bpf_map__max_entries(skeleton_->maps.processes) * sizeof(tracer_slot);
    slots_ = {static_cast<const tracer_slot*>(::mmap(nullptr, slot_bytes, PROT_READ, MAP_SHARED,
                                                     ::bpf_map__fd(skeleton_->maps.processes), 0)),
              Unmapper{slot_bytes}};
    if (slots_.get() == MAP_FAILED) {
      static_cast<void>(slots_.release());
      refuse("map the process table", errno, log);
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
    const auto places = static_cast<std::uint32_t>(std::bit_ceil(options_.max_processes));
    rodata->slot_mask = places - 1;
    ::bpf_map__set_max_entries(skeleton_->maps.processes, places);
    ::bpf_map__set_max_entries(skeleton_->maps.displaced_processes, std::max(places / 4, 1u));
    ::bpf_map__set_max_entries(skeleton_->maps.ended_threads, places + places / 4);
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

  /// Lets this thread be switched on each CPU until the kernel side has seen its clock: see exact_run_time in accounts.h.
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
      for (const auto& [context, count] : unended_by_context()) unended += count;
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
    throw Error({ErrorCode::kInvalidArgument, errno, "the filter has more rules than the kernel side holds",
                 "use at most 1024 trees, 1024 users and 16384 cgroups", {}});
  }

  /// Takes in what the rules name; repeated, as a child may be visited before its parent is taken in.
  void adopt(Receiver& receiver) {
    constexpr int kMostPasses = 16;
    for (int pass = 0; pass < kMostPasses; ++pass)
      if (visit_living(receiver).adopted == 0) return;
  }

  std::vector<tracer_wire_thread> living_threads() const {
    std::vector<tracer_wire_thread> threads;
    if (skeleton_->links.living_tasks == nullptr) return threads;
    const UniqueFd iterator(::bpf_iter_create(::bpf_link__fd(skeleton_->links.living_tasks)));
    if (!iterator) return threads;
    std::vector<std::byte> bytes;
    std::vector<std::byte> chunk(64u << 10);
    for (;;) {
      const ssize_t got = ::read(iterator.get(), chunk.data(), chunk.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) break;
      bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + got);
    }
    threads.resize(bytes.size() / sizeof(tracer_wire_thread));
    std::memcpy(threads.data(), bytes.data(), threads.size() * sizeof(tracer_wire_thread));
    return threads;
  }

  /// Processes that the kernel side holds a place for.
  std::map<std::uint32_t, std::uint64_t> unended_by_context() const {
    std::map<std::uint32_t, std::uint64_t> counts;
    const auto count = [&counts](const tracer_process& process) {
      if ((process.flags & TRACER_FLAG_EXCLUDED) == 0) ++counts[process.context_id];
    };
    const std::uint32_t places = ::bpf_map__max_entries(skeleton_->maps.processes);
    for (std::uint32_t at = 0; at < places; ++at)
      if (const auto& slot = slots_[at]; slot.pid != 0) count(slot.process);
    const int displaced = ::bpf_map__fd(skeleton_->maps.displaced_processes);
    std::uint32_t key = 0;
    for (void* before = nullptr; ::bpf_map_get_next_key(displaced, before, &key) == 0; before = &key) {
      tracer_process process{};
      if (::bpf_map_lookup_elem(displaced, &key, &process) == 0) count(process);
    }
    return counts;
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
    for (const tracer_wire_thread& thread : living_threads()) {
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

  template <class Value, class Function>
  static void for_each_cpu_value(const bpf_map* map, std::uint32_t key, Function function) {
    static_assert(sizeof(Value) % 8 == 0);
    const auto cpus = static_cast<std::size_t>(std::max(::libbpf_num_possible_cpus(), 1));
    std::vector<Value> values(cpus);
    if (::bpf_map__lookup_elem(map, &key, sizeof key, values.data(), values.size() * sizeof(Value), 0) != 0) return;
    for (const Value& value : values) function(value);
  }

  static void add_words(tracer_context_totals& sum, const tracer_context_totals& more) {
    using Words = std::array<std::uint64_t, sizeof sum / sizeof(std::uint64_t)>;
    auto words = std::bit_cast<Words>(sum);
    const auto add = std::bit_cast<Words>(more);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += add[i];
    sum = std::bit_cast<tracer_context_totals>(words);
  }

  /// Times that the kernel skipped one of our programs as it was already running on that CPU.
  std::uint64_t recursion_misses() const {
    std::uint64_t sum = 0;
    const bpf_program* program = nullptr;
    while ((program = ::bpf_object__next_program(skeleton_->obj, const_cast<bpf_program*>(program))) != nullptr) {
      if (::bpf_program__fd(program) < 0) continue;
      bpf_prog_info info{};
      __u32 size = sizeof info;
      if (::bpf_obj_get_info_by_fd(::bpf_program__fd(program), &info, &size) == 0) sum += info.recursion_misses;
    }
    return sum;
  }

  KernelSourceOptions options_;
  KernelTypes types_;
  std::unique_ptr<lifecycle_bpf, SkeletonCloser> skeleton_;
  std::unique_ptr<ring_buffer, RingCloser> ring_;
  std::unique_ptr<const tracer_slot[], Unmapper> slots_;
  UniqueFd timer_;
  UniqueFd epoll_;
  Receiver* receiver_ = nullptr;
  std::uint64_t started_with_misses_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Source> kernel_source(const KernelSourceOptions& options) {
  return std::make_unique<KernelSource>(options);
}

}  // namespace tracer
