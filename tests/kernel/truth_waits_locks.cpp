// SPDX-License-Identifier: Apache-2.0
#include "truth_waits_locks.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "truth_waits_data.hpp"

namespace truth {
namespace {

void tell(std::uint64_t ns, pid_t waker) {
  report(ns);
  report(static_cast<std::uint64_t>(waker));
}

int open_file() { return ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC); }

/// Another process has the lock for `ms`, and lives on for a while.
int file_lock(long ms, void (*give)(int file)) {
  const Pipe ready;
  const pid_t child = in_child([&] {
    const int file = open_file();
    ::flock(file, LOCK_EX);
    ready.put(1);
    sleep_ms(ms);
    give(file);
    sleep_ms(20);
  });
  ready.take(1);
  const int file = open_file();
  tell(waited_ns([file] { ::flock(file, LOCK_EX); }), child);
  reap(child);
  return 0;
}

int record_lock(long ms) {
  const int file = static_cast<int>(::syscall(SYS_memfd_create, "locked", 0U));
  const auto set = [file](short type) {
    struct flock lock {};
    lock.l_type = type;
    return ::fcntl(file, F_SETLKW, &lock);
  };
  const Pipe ready;
  const pid_t child = in_child([&] {
    set(F_WRLCK);
    ready.put(1);
    sleep_ms(ms);
    set(F_UNLCK);
    sleep_ms(20);
  });
  ready.take(1);
  tell(waited_ns([&] { set(F_WRLCK); }), child);
  reap(child);
  return 0;
}

struct Semaphore {
  int set = ::semget(IPC_PRIVATE, 1, 0600);
  ~Semaphore() { ::semctl(set, 0, IPC_RMID); }
  void change(short by) const {
    sembuf operation{0, by, 0};
    ::semop(set, &operation, 1);
  }
};

int semaphore(long ms) {
  const Semaphore semaphore;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    semaphore.change(1);
  });
  tell(waited_ns([&] { semaphore.change(-1); }), child);
  reap(child);
  return 0;
}

/// For one process it waits three times as long as for another: reports the wait for that one.
int two_semaphores(long ms) {
  const Semaphore semaphore;
  const auto up_after = [&](long after_ms) {
    return in_child([&] {
      sleep_ms(after_ms);
      semaphore.change(1);
    });
  };
  const pid_t longer = up_after(ms);
  const std::uint64_t ns = waited_ns([&] { semaphore.change(-1); });
  const pid_t shorter = up_after(ms / 3);
  semaphore.change(-1);
  tell(ns, longer);
  reap(longer);
  reap(shorter);
  return 0;
}

using Word = std::atomic<std::uint32_t>;

/// Of all processes that are forked from now on.
Word& shared_word() {
  return *static_cast<Word*>(::mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

int shared_futex(long ms) {
  Word& word = shared_word();
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    word = 1;
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  });
  tell(waited_ns([&] {
         while (word == 0) ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
       }),
       child);
  reap(child);
  return 0;
}

/// Nobody wakes it.
int timed_futex(long ms) {
  Word& word = shared_word();
  const timespec patience{ms / 1000, ms % 1000 * 1'000'000};
  tell(waited_ns([&] { ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, &patience, nullptr, 0); }), 0);
  return 0;
}

/// Its own thread wakes it, as if another process did.
int futex_by_thread(long ms) {
  Word& word = shared_word();
  std::thread other([&] {
    sleep_ms(ms);
    word = 1;
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  });
  const std::uint64_t ns = waited_ns([&] {
    while (word == 0) ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
  });
  other.join();
  tell(ns, 0);
  return 0;
}

/// The one that has the lock interrupts it, and keeps the lock.
int signaled(long ms) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  const Pipe ready;
  const pid_t child = in_child([&] {
    ::flock(open_file(), LOCK_EX);
    ready.put(1);
    sleep_ms(ms);
    ::kill(::getppid(), SIGALRM);
    sleep_ms(50);
  });
  ready.take(1);
  const int file = open_file();
  tell(waited_ns([file] { ::flock(file, LOCK_EX); }), 0);
  reap(child);
  return 0;
}

}  // namespace

int wait_for_lock(const std::string& name, long ms) {
  static const std::map<std::string, std::function<int(long)>> all = {
      {"lock_given", [](long n) { return file_lock(n, [](int file) { ::flock(file, LOCK_UN); }); }},
      {"lock_closed", [](long n) { return file_lock(n, [](int file) { ::close(file); }); }},
      {"lock_ended", [](long n) { return file_lock(n, [](int) { ::_exit(0); }); }},
      {"lock_record", record_lock},
      {"lock_semaphore", semaphore},
      {"lock_two", two_semaphores},
      {"lock_shared", shared_futex},
      {"lock_timed", timed_futex},
      {"lock_by_thread", futex_by_thread},
      {"lock_signaled", signaled},
  };
  const auto found = all.find(name);
  return found == all.end() ? 96 : found->second(ms);
}

}  // namespace truth
