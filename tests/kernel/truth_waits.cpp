// SPDX-License-Identifier: Apache-2.0
#include "truth_waits.hpp"

#include "storage.hpp"
#include "truth.hpp"
#include "truth_snapshots.hpp"
#include "truth_tools.hpp"
#include "truth_waits_data.hpp"
#include "truth_waits_locks.hpp"
#include "truth_waits_peers.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>

extern char** environ;

namespace truth {
namespace {

int sleeping(long ms) {
  report(waited_ns([ms] { sleep_ms(ms); }));
  return 0;
}

/// The main thread waits for a word that another changes after its sleep. `patience`: null, or longer.
int futex(long ms, const timespec* patience) {
  static std::atomic<std::uint32_t> word{0};
  std::uint64_t slept = 0;
  std::thread other([&slept, ms] {
    slept = waited_ns([ms] { sleep_ms(ms); });
    word = 1;
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  });
  report(waited_ns([patience] {
    while (word == 0) ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, patience, nullptr, 0);
  }));
  other.join();
  report(slept);
  return 0;
}

/// As a thread of a pool that awaits work, and gets none.
int futex_in_vain(long ms) {
  std::atomic<std::uint32_t> word{0};
  const timespec patience{0, ms * 1'000'000 / 3};
  report(waited_ns([&] {
    for (int i = 0; i < 3; ++i) ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &patience, nullptr, 0);
  }));
  return 0;
}

int file_lock(long ms) {
  const Pipe ready;
  const pid_t child = in_child([&ready, ms] {
    ::flock(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), LOCK_EX);
    ready.put(1);
    sleep_ms(ms);
  });
  ready.take(1);
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  report(waited_ns([file] { ::flock(file, LOCK_EX); }));
  reap(child);
  return 0;
}

int semaphore(long ms) {
  const int set = ::semget(IPC_PRIVATE, 1, 0600);
  sembuf down{0, -1, 0};
  const pid_t child = in_child([set, ms] {
    sleep_ms(ms);
    sembuf up{0, 1, 0};
    ::semop(set, &up, 1);
  });
  report(waited_ns([&] { ::semop(set, &down, 1); }));
  ::semctl(set, 0, IPC_RMID);
  reap(child);
  return 0;
}

int polling(long ms) {
  const Pipe silent;
  pollfd wanted{silent.out, POLLIN, 0};
  report(waited_ns([&] { ::poll(&wanted, 1, static_cast<int>(ms)); }));
  return 0;
}

int selecting(long ms) {
  const Pipe silent;
  fd_set wanted;
  FD_ZERO(&wanted);
  FD_SET(silent.out, &wanted);
  timeval time{ms / 1000, ms % 1000 * 1000};
  report(waited_ns([&] { ::select(silent.out + 1, &wanted, nullptr, nullptr, &time); }));
  return 0;
}

int polling_nothing(long ms) {
  report(waited_ns([ms] { ::poll(nullptr, 0, static_cast<int>(ms)); }));
  return 0;
}

int selecting_nothing(long ms) {
  timeval time{ms / 1000, ms % 1000 * 1000};
  report(waited_ns([&] { ::select(0, nullptr, nullptr, nullptr, &time); }));
  return 0;
}

int epolling(long ms) {
  const Pipe silent;
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{};
  interest.events = EPOLLIN;
  ::epoll_ctl(set, EPOLL_CTL_ADD, silent.out, &interest);
  report(waited_ns([&] { ::epoll_wait(set, &interest, 1, static_cast<int>(ms)); }));
  return 0;
}

int event(long ms) {
  const int counter = ::eventfd(0, EFD_CLOEXEC);
  std::uint64_t value = 1;
  const pid_t child = in_child([&] {
    sleep_ms(ms);
    [[maybe_unused]] const ssize_t put = ::write(counter, &value, sizeof value);
  });
  report(waited_ns([&] { [[maybe_unused]] const ssize_t got = ::read(counter, &value, sizeof value); }));
  reap(child);
  return 0;
}

int child(long ms) {
  const pid_t pid = in_child([ms] { sleep_ms(ms); });
  report(waited_ns([pid] { reap(pid); }));
  return 0;
}

int vforked(long ms) {
  report(waited_ns([ms] {
    const pid_t pid = ::vfork();
    if (pid == 0) {
      sleep_ms(ms);
      ::_exit(0);
    }
    reap(pid);
  }));
  return 0;
}

int spawned(long ms) {
  const auto words = call("wait", {"sleep", std::to_string(ms)});
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  report(waited_ns([&] {
    if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) == 0) reap(pid);
  }));
  return 0;
}

/// As shells wait: for the signal that a child's end sends.
int signal_of_child(long ms, bool suspend) {
  static volatile sig_atomic_t ended = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { ended = 1; };
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const pid_t pid = in_child([ms] { sleep_ms(ms); });
  report(waited_ns([&] {
    int which = 0;
    if (!suspend) ::sigwait(&blocked, &which);
    while (suspend && ended == 0) ::sigsuspend(&before);
  }));
  reap(pid);
  return 0;
}

/// The child stops itself; it reports its time.
int stopped(long ms) {
  const pid_t pid = in_child([] { report(waited_ns([] { ::raise(SIGSTOP); })); });
  int status = 0;
  ::waitpid(pid, &status, WUNTRACED);
  sleep_ms(ms);
  ::kill(pid, SIGCONT);
  reap(pid);
  return 0;
}

/// The child is stopped in the midst of a wait, which the kernel begins again under another number.
int stopped_in(long ms, const std::function<void(long)>& wait) {
  const pid_t pid = in_child([&wait, ms] { report(waited_ns([&] { wait(3 * ms); })); });
  sleep_ms(ms);
  const std::uint64_t was_stopped = waited_ns([pid, ms] {
    ::kill(pid, SIGSTOP);
    sleep_ms(ms);
    ::kill(pid, SIGCONT);
  });
  reap(pid);
  report(was_stopped);
  return 0;
}

/// Of two threads one computes for so long, the other sleeps in short turns; both are stopped for so long.
int stopped_crew(long ms) {
  const pid_t pid = in_child([ms] {
    std::atomic<bool> done{false};
    std::thread sleeper([&done] {
      while (!done) sleep_ms(1);
    });
    burn(CLOCK_THREAD_CPUTIME_ID, static_cast<std::uint64_t>(ms) * 1'000'000u);
    done = true;
    sleeper.join();
  });
  sleep_ms(ms / 3);
  report(waited_ns([pid, ms] {
    ::kill(pid, SIGSTOP);
    sleep_ms(ms);
    ::kill(pid, SIGCONT);
  }));
  reap(pid);
  return 0;
}

void stay_on_first_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// Four that want one CPU all the time.
int spinners(long ms) {
  stay_on_first_cpu();
  const std::uint64_t until = clock_ns(CLOCK_MONOTONIC) + static_cast<std::uint64_t>(ms) * 1'000'000u;
  pid_t pids[4];
  for (pid_t& pid : pids)
    pid = in_child([until] {
      while (clock_ns(CLOCK_MONOTONIC) < until) {
      }
    });
  for (const pid_t pid : pids) reap(pid);
  return 0;
}

/// Wants a CPU that another has, and gets some milliseconds of each second.
int queued(long ms) {
  stay_on_first_cpu();
  in_child([ms] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    burn(CLOCK_MONOTONIC, static_cast<std::uint64_t>(ms) * 1'000'000u);
  });
  const sched_param none{};
  if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) return 1;
  burn(CLOCK_MONOTONIC, static_cast<std::uint64_t>(ms) * 1'000'000u);
  return 0;
}

/// Threads that sleep while the first waits for their ends.
int threads(long ms) {
  std::vector<std::thread> all;
  report(waited_ns([&] {
    for (int i = 0; i < 3; ++i) all.emplace_back([ms] { sleep_ms(ms); });
    for (std::thread& each : all) each.join();
  }));
  return 0;
}

int by_ms(const std::string& name, long ms);

[[noreturn]] void execute_wait(Arguments arguments) { execute(call("wait", std::move(arguments))); }

int chain(const Arguments& a) {
  sleeping(number(a, 1));
  if (a.size() > 2) {
    Arguments rest = {"chain"};
    rest.insert(rest.end(), a.begin() + 2, a.end());
    execute_wait(std::move(rest));
  }
  return 0;
}

/// A process for each of the waits after the second argument; each tells its pid at last, and "-".
int processes(const Arguments& a) {
  for (std::size_t i = 2; i < a.size(); ++i) {
    const pid_t pid = in_child([&] {
      if (by_ms(a[i], number(a, 1)) != 0) ::_exit(1);
      report(static_cast<std::uint64_t>(::getpid()));
    });
    reap(pid);
    if (::write(STDOUT_FILENO, "-\n", 2) != 2) return 1;
  }
  return 0;
}

/// Executes the rest in a cgroup: what joining it costs is not the next program's.
int in_cgroup(const Arguments& a) {
  if (!write_text(a.at(1), "0")) return 1;
  execute_wait(Arguments(a.begin() + 2, a.end()));
}

int move_and_sleep(const Arguments& a) {
  if (!write_text(a.at(1), "0")) return 1;
  return sleeping(number(a, 2));
}

int burning(long ms) {
  burn(CLOCK_PROCESS_CPUTIME_ID, static_cast<std::uint64_t>(ms) * 1'000'000u);
  return 0;
}

int burning_by_two(long ms) {
  const auto work = [ms] { burn(CLOCK_THREAD_CPUTIME_ID, static_cast<std::uint64_t>(ms) * 1'000'000u); };
  std::thread other(work);
  work();
  other.join();
  return 0;
}

int burning_by_two_on_one_cpu(long ms) {
  stay_on_first_cpu();
  return burning_by_two(ms);
}

/// {_, "burn" or "sleep", cgroup.procs, file, value to freeze, value to thaw, ms}: the child is frozen for so long.
int frozen(const Arguments& a) {
  const bool burns = a.at(1) == "burn";
  const pid_t pid = in_child([&a, burns] {
    if (burns)
      burning(200);
    else
      sleep_ms(number(a, 6) + 200);
  });
  bool done = write_text(a.at(2), std::to_string(pid));
  sleep_ms(50);
  report(waited_ns([&] {
    done = write_text(a.at(3), a.at(4)) && done;
    sleep_ms(number(a, 6));
    done = write_text(a.at(3), a.at(5)) && done;
  }));
  reap(pid);
  return done ? 0 : 1;
}

/// While the first thread waits for its end, a second burns, sleeps, and executes a program that sleeps.
int exec_by_thread(long ms) {
  burn(CLOCK_THREAD_CPUTIME_ID, 100'000'000);
  std::thread([ms] {
    sleeping(ms);
    execute_wait({"sleep", std::to_string(ms)});
  }).join();
  return 0;
}

int by_ms(const std::string& name, long ms) {
  static const std::map<std::string, std::function<int(long)>> all = {
      {"sleep", sleeping},
      {"burn", burning},
      {"burn_by_two", burning_by_two},
      {"burn_by_two_on_one_cpu", burning_by_two_on_one_cpu},
      {"futex", [](long time) { return futex(time, nullptr); }},
      {"futex_in_time",
       [](long time) {
         const timespec longer{60, 0};
         return futex(time, &longer);
       }},
      {"futex_in_vain", futex_in_vain},
      {"file_lock", file_lock},
      {"semaphore", semaphore},
      {"poll", polling},
      {"select", selecting},
      {"poll_nothing", polling_nothing},
      {"select_nothing", selecting_nothing},
      {"epoll", epolling},
      {"event", event},
      {"child", child},
      {"vfork", vforked},
      {"spawn", spawned},
      {"sigsuspend", [](long time) { return signal_of_child(time, true); }},
      {"sigwait", [](long time) { return signal_of_child(time, false); }},
      {"stopped", stopped},
      {"stopped_crew", stopped_crew},
      {"stopped_in_sleep", [](long time) { return stopped_in(time, sleep_ms); }},
      {"stopped_in_poll", [](long time) { return stopped_in(time, [](long ms_) { polling(ms_); }); }},
      {"spinners", spinners},
      {"queued", queued},
      {"threads", threads},
      {"exec_by_thread", exec_by_thread},
  };
  const auto found = all.find(name);
  if (found != all.end()) return found->second(ms);
  for (const auto wait : {wait_for_data, wait_for_peer, wait_for_lock})
    if (const int result = wait(name, ms); result != 96) return result;
  return 96;
}

}  // namespace

int wait_for(const std::vector<std::string>& arguments) {
  if (arguments.at(0) == "chain") return chain(arguments);
  if (arguments.at(0) == "processes") return processes(arguments);
  if (arguments.at(0) == "in_cgroup") return in_cgroup(arguments);
  if (arguments.at(0) == "move_and_sleep") return move_and_sleep(arguments);
  if (arguments.at(0) == "frozen") return frozen(arguments);
  if (arguments.at(0) == "hold_memory") return hold_memory({arguments.begin() + 1, arguments.end()});
  if (arguments.at(0) == "disk") return wait_for_disk(arguments);
  if (arguments.at(0) == "write") return write_much(arguments);
  return by_ms(arguments.at(0), number(arguments, 1));
}

}  // namespace truth
