// SPDX-License-Identifier: Apache-2.0
#include "own_work.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/own_usage.hpp"
#include "base/quiet_thread.hpp"
#include "task_scope.hpp"

namespace tracer::python {

namespace {

using internal::CallBytes;
using internal::clock_ns;
using Scope = std::shared_ptr<TaskScope>;

/// CPU time of threads that are not known, such as those of BLAS, is in none of the clocks that were read: beyond these
/// a task has consumed more than they say.
constexpr std::uint64_t kMostHiddenNs = 2'000'000;
constexpr std::uint64_t kMostHiddenShare = 50;

/// Memory of this process: its peak so far, and now.
struct Memory {
  std::uint64_t peak_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

Memory memory_now() noexcept {
  Memory memory;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) memory.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  try {
    memory.resident_bytes = internal::resident_bytes().value_or(0);
  } catch (...) {
  }
  return memory;
}

/// A peak that has grown was reached in between; otherwise at least this was held.
void set_peak(OwnWork& work, const Memory& before, const Memory& now) {
  if (now.peak_bytes > before.peak_bytes) {
    work.account.peak_rss_bytes = now.peak_bytes;
  } else if (const std::uint64_t held = std::max(before.resident_bytes, now.resident_bytes); held != 0) {
    work.account.peak_rss_at_least_bytes = held;
  }
}

struct Thread;

struct SessionWork {
  std::uint64_t begin_ns = 0;
  std::uint64_t cpu_ns = 0;  ///< Of the process, less libtracer's own threads.
  Memory memory;
  std::optional<CallBytes> io;        ///< Likewise.
  std::uint64_t in_tasks_cpu_ns = 0;  ///< Reported of tasks since.
  std::uint64_t in_tasks_read_bytes = 0;
  std::uint64_t in_tasks_written_bytes = 0;
};

struct AllWork {
  /// Recursive, as a task that is let go of leaves `open`.
  std::recursive_mutex mutex;
  std::set<Thread*> threads;
  std::uint64_t ended_cpu_ns = 0;  ///< Of threads that were known.
  std::set<TaskScope*> open;
  std::map<std::uint64_t, SessionWork> sessions;
};

// Never destroyed: threads may end until the very end. Made anew in a child, where its lock may be held forever.
alignas(AllWork) std::byte storage[sizeof(AllWork)];

AllWork& all_work() {
  static const bool made = [] {
    new (storage) AllWork;
    return true;
  }();
  static_cast<void>(made);
  return *std::launder(reinterpret_cast<AllWork*>(storage));
}

struct Thread {
  pid_t number = 0;            ///< 0: not known yet.
  std::uint64_t first_ns = 0;  ///< Of its CPU clock, as since_ns.
  std::uint64_t since_ns = 0;
  Scope scope;  ///< What it works for.

  ~Thread();
};

thread_local Thread this_thread;

/// With the lock. What it has done since goes to its task.
void settle(Thread& thread, std::uint64_t cpu_ns) {
  if (thread.scope) thread.scope->own().cpu_ns += cpu_ns - std::min(cpu_ns, thread.since_ns);
  thread.since_ns = std::max(cpu_ns, thread.since_ns);
}

Thread::~Thread() {
  if (number == 0) return;
  AllWork& all = all_work();
  Scope last;
  const std::lock_guard lock(all.mutex);
  const std::uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  settle(*this, cpu_ns);
  all.ended_cpu_ns += cpu_ns - first_ns;
  all.threads.erase(this);
  last.swap(scope);
}

/// With the lock.
Thread& known_thread(AllWork& all) {
  Thread& thread = this_thread;
  if (thread.number != 0) return thread;
  thread.number = ::gettid();
  thread.first_ns = thread.since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  all.threads.insert(&thread);
  return thread;
}

/// With the lock: CPU time of all threads that are known, since they are.
std::uint64_t known_cpu_ns(const AllWork& all) {
  std::uint64_t sum = all.ended_cpu_ns + internal::quiet_threads_usage().cpu_ns;
  for (const Thread* each : all.threads)
    sum += internal::thread_cpu_ns(each->number).value_or(each->since_ns) - each->first_ns;
  return sum;
}

/// The innermost whose work can be told from what is beside it.
Scope counting(Scope scope) {
  while (scope && (scope == TaskScope::outside() || !scope->open() || !scope->own().counts)) {
    if (scope == TaskScope::outside()) return nullptr;
    scope = scope->outer();
  }
  return scope;
}

/// Of the process, less libtracer's own threads.
std::pair<std::uint64_t, std::optional<CallBytes>> consumed() {
  const internal::QuietUsage quiet = internal::quiet_threads_usage();
  const std::uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  auto io = internal::process_io();
  if (io) {
    io->read_bytes -= std::min(io->read_bytes, quiet.read_bytes);
    io->written_bytes -= std::min(io->written_bytes, quiet.written_bytes);
  }
  return {cpu_ns - std::min(cpu_ns, quiet.cpu_ns), io};
}

std::uint64_t less(std::uint64_t a, std::uint64_t b) noexcept { return a - std::min(a, b); }

}  // namespace

void work_for(const Scope& scope, OwnSwitch how) noexcept try {
  AllWork& all = all_work();
  Scope before;
  const std::lock_guard lock(all.mutex);
  Thread& thread = known_thread(all);
  Scope now = counting(scope);
  if (thread.scope == now) return;
  settle(thread, clock_ns(CLOCK_THREAD_CPUTIME_ID));
  if (how == OwnSwitch::kStep) {
    if (thread.scope) thread.scope->own().io_known = false;
    if (now) now->own().io_known = false;
  }
  before = std::exchange(thread.scope, std::move(now));
} catch (...) {
  // Without memory for it the thread works for whom it did.
}

void begin_own_work(const Scope& scope, bool alone) noexcept try {
  const Memory memory = memory_now();
  AllWork& all = all_work();
  Scope before;
  const std::lock_guard lock(all.mutex);
  Thread& thread = known_thread(all);
  OwnPart& part = scope->own();
  part.counts = alone && !scope->in_frame();
  part.begin_ns = internal::boot_time_ns();
  part.process_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  part.known_cpu_ns = known_cpu_ns(all);
  part.peak_bytes = memory.peak_bytes;
  part.resident_bytes = memory.resident_bytes;
  part.thread = thread.number;
  all.open.insert(scope.get());
  if (!part.counts) return;
  settle(thread, clock_ns(CLOCK_THREAD_CPUTIME_ID));
  before = std::exchange(thread.scope, scope);
  if (const auto io = internal::thread_io(thread.number)) {
    part.io_known = true;
    part.read_bytes = io->read_bytes + io->asked_bytes;
    part.written_bytes = io->written_bytes;
  }
} catch (...) {
  scope->own().counts = false;
}

void end_own_work(const Scope& scope, bool alone) noexcept try {
  AllWork& all = all_work();
  OwnWork work;
  std::vector<Scope> let_go;
  const Scope outer = scope->outer();
  {
    const std::lock_guard lock(all.mutex);
    OwnPart& part = scope->own();
    if (all.open.erase(scope.get()) == 0) return;
    Thread& thread = known_thread(all);
    std::optional<CallBytes> io;
    if (part.io_known && part.thread == thread.number) io = internal::thread_io(thread.number);
    for (Thread* each : all.threads) {
      if (each->scope != scope) continue;
      if (each != &thread) part.io_known = false;
      settle(*each, internal::thread_cpu_ns(each->number).value_or(each->since_ns));
      let_go.push_back(std::exchange(each->scope, counting(outer)));
    }
    work.begin_ns = part.begin_ns;
    work.time_ns = internal::boot_time_ns();
    if (part.counts && alone) {
      const std::uint64_t process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - part.process_cpu_ns;
      const std::uint64_t hidden_ns = less(process_ns, known_cpu_ns(all) - part.known_cpu_ns);
      const bool exact = hidden_ns <= std::max(kMostHiddenNs, process_ns / kMostHiddenShare);
      (exact ? work.account.cpu_ns : work.account.cpu_at_least_ns) = part.cpu_ns;
    }
    if (io && part.io_known && part.counts) {
      work.account.read_bytes = less(io->read_bytes, part.read_bytes);
      work.account.written_bytes = less(io->written_bytes, part.written_bytes);
      // Whatever is around it has not read this.
      if (const Scope around = counting(outer)) {
        around->own().read_bytes += *work.account.read_bytes;
        around->own().written_bytes += *work.account.written_bytes;
      }
    } else if (const Scope around = counting(outer)) {
      around->own().io_known = false;
    }
    set_peak(work, {part.peak_bytes, part.resident_bytes}, memory_now());
  }
  for (const TaskSession& session : *task_sessions()) {
    const auto context = scope->context_in(session.id, alone ? Surety::kSure : Surety::kUnsure);
    const auto living = session.session.lock();
    if (!context || !living) continue;
    living->report_own_work(*context, work);
    const std::lock_guard lock(all.mutex);
    const auto sums = all.sessions.find(session.id);
    if (sums == all.sessions.end()) continue;
    sums->second.in_tasks_cpu_ns += work.account.cpu_ns.value_or(work.account.cpu_at_least_ns.value_or(0));
    sums->second.in_tasks_read_bytes += work.account.read_bytes.value_or(0);
    sums->second.in_tasks_written_bytes += work.account.written_bytes.value_or(0);
  }
} catch (...) {
  // Without memory for it: it is reported outside of all tasks.
}

void abandon_own_work(TaskScope* scope) noexcept {
  AllWork& all = all_work();
  const std::lock_guard lock(all.mutex);
  all.open.erase(scope);
}

void begin_own_session(std::uint64_t session_id) noexcept try {
  SessionWork begun;
  begun.begin_ns = internal::boot_time_ns();
  begun.memory = memory_now();
  std::tie(begun.cpu_ns, begun.io) = consumed();
  if (begun.io) begun.io->read_bytes += begun.io->asked_bytes;
  AllWork& all = all_work();
  const std::lock_guard lock(all.mutex);
  known_thread(all);
  all.sessions.insert_or_assign(session_id, begun);
} catch (...) {
  // Without memory for it nothing is counted.
}

void report_own_session(std::uint64_t session_id, Session& session, OwnReport which) noexcept try {
  AllWork& all = all_work();
  OwnWork work;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.sessions.find(session_id);
    if (found == all.sessions.end()) return;
    SessionWork& sums = found->second;
    // What open tasks have done so far is reported when they end.
    std::uint64_t open_cpu_ns = 0;
    bool any_open = false;
    if (which == OwnReport::kSoFar) {
      for (Thread* each : all.threads) settle(*each, internal::thread_cpu_ns(each->number).value_or(each->since_ns));
      for (TaskScope* each : all.open) {
        if (!each->own().counts || !each->context_in(session_id, Surety::kSure)) continue;
        any_open = true;
        open_cpu_ns += each->own().cpu_ns;
      }
    }
    const Memory memory = memory_now();
    const auto [cpu_ns, io] = consumed();
    work.begin_ns = sums.begin_ns;
    work.time_ns = internal::boot_time_ns();
    const std::uint64_t all_ns = less(cpu_ns, sums.cpu_ns);
    work.account.cpu_ns = less(all_ns, sums.in_tasks_cpu_ns + open_cpu_ns);
    set_peak(work, sums.memory, memory);
    if (io && sums.io && !any_open) {
      work.account.read_bytes = less(io->read_bytes, sums.io->read_bytes + sums.in_tasks_read_bytes);
      work.account.written_bytes = less(io->written_bytes, sums.io->written_bytes + sums.in_tasks_written_bytes);
      sums.io = io;
      sums.io->read_bytes += io->asked_bytes;
      sums.in_tasks_read_bytes = sums.in_tasks_written_bytes = 0;
    }
    // In this part nothing but what open tasks have done is left for later.
    sums.begin_ns = work.time_ns;
    sums.cpu_ns += sums.in_tasks_cpu_ns + *work.account.cpu_ns;
    sums.in_tasks_cpu_ns = 0;
    sums.memory = memory;
    if (which == OwnReport::kLast) all.sessions.erase(found);
  }
  session.report_own_work({}, work);
} catch (...) {
  // Without memory for it: what was done is reported with the next part, or missing at the end.
}

void forget_own_work() noexcept {
  new (storage) AllWork;
  Thread& thread = this_thread;
  thread.number = 0;
  // Its destructor is the parent's business.
  static_cast<void>(new (std::nothrow) Scope(std::move(thread.scope)));
}

}  // namespace tracer::python
