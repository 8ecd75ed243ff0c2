// SPDX-License-Identifier: Apache-2.0
#include "base/quiet_thread.hpp"

#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <set>
#include <system_error>

#include <tracer/error.hpp>

#include "base/own_usage.hpp"

namespace tracer::internal {
namespace {

struct QuietThreads {
  std::mutex mutex;
  std::set<pid_t> living;
  QuietUsage ended;
};

// Never destroyed: threads may end until the very end. Made anew in a child, where others have no threads.
alignas(QuietThreads) std::byte storage[sizeof(QuietThreads)];

QuietThreads& quiet_threads() {
  static const bool made = [] {
    new (storage) QuietThreads;
    ::pthread_atfork(nullptr, nullptr, [] { new (storage) QuietThreads; });
    return true;
  }();
  static_cast<void>(made);
  return *std::launder(reinterpret_cast<QuietThreads*>(storage));
}

void add_usage(QuietUsage& sum, pid_t thread) {
  sum.cpu_ns += thread_cpu_ns(thread).value_or(0);
  if (const auto io = thread_io(thread)) {
    sum.read_bytes += io->read_bytes;
    sum.written_bytes += io->written_bytes;
  }
}

/// Counts the calling thread while it lives.
class Counted {
 public:
  Counted() {
    QuietThreads& all = quiet_threads();
    const std::lock_guard lock(all.mutex);
    all.living.insert(thread_);
  }
  ~Counted() {
    QuietThreads& all = quiet_threads();
    const std::lock_guard lock(all.mutex);
    add_usage(all.ended, thread_);
    all.living.erase(thread_);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  const pid_t thread_ = ::gettid();
};

}  // namespace

QuietUsage quiet_threads_usage() noexcept {
  QuietThreads& all = quiet_threads();
  const std::lock_guard lock(all.mutex);
  QuietUsage usage = all.ended;
  for (const pid_t thread : all.living) add_usage(usage, thread);
  return usage;
}

std::thread start_quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  try {
    return std::thread([body = std::move(body)] {
      const Counted counted;
      body();
    });
  } catch (const std::system_error& error) {
    throw Error({ErrorCode::kNoMemory,
                 error.code().value(),
                 "can't start a thread",
                 "raise the limit of processes (ulimit -u), or free memory",
                 {}});
  }
}

void drop_capabilities_of_this_thread() noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, kept) != 0) return;
  constexpr std::uint32_t kOfUser = 1u << CAP_SETUID | 1u << CAP_SETGID;
  kept[0].effective &= kOfUser;
  kept[0].permitted &= kOfUser;
  kept[0].inheritable = 0;
  kept[1] = {};
  ::syscall(SYS_capset, &header, kept);
}

}  // namespace tracer::internal
