// SPDX-License-Identifier: Apache-2.0
#include "truth.hpp"

#include "truth_containers.hpp"
#include "truth_crew.hpp"
#include "truth_disks.hpp"
#include "truth_gpu.hpp"
#include "truth_io_uring.hpp"
#include "truth_rare.hpp"
#include "truth_files.hpp"
#include "truth_network.hpp"
#include "truth_polling.hpp"
#include "truth_oom.hpp"
#include "truth_signals.hpp"
#include "truth_syscalls.hpp"
#include "truth_together.hpp"
#include "truth_snapshots.hpp"
#include "truth_tools.hpp"
#include "truth_users.hpp"
#include "truth_waits.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

extern char** environ;

namespace truth {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

int spawn_and_wait(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (::posix_spawn(&pid, kSelf, nullptr, nullptr, argv.data(), environ) != 0) return 98;
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

int resident(const Arguments&) {
  std::ifstream lines("/proc/self/smaps_rollup");
  std::uint64_t kib = 0;
  for (std::string word; lines >> word;)
    if (word == "Rss:" && lines >> kib) break;
  report(kib * 1024);
  return 0;
}

int exit_with(const Arguments& a) { return static_cast<int>(number(a, 0)); }

/// Burns CPU, then reports its own clock as the last thing that it does.
int cpu(const Arguments& a) {
  burn(CLOCK_PROCESS_CPUTIME_ID, static_cast<std::uint64_t>(number(a, 0)) * 1000u);
  report(clock_ns(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}

/// Threads that each burn the same, and end before or after the leader.
int threads(const Arguments& a) {
  std::vector<std::thread> all;
  for (long i = 0; i < number(a, 0); ++i)
    all.emplace_back([&a] { burn(CLOCK_THREAD_CPUTIME_ID, static_cast<std::uint64_t>(number(a, 1)) * 1000u); });
  for (std::thread& each : all) each.join();
  report(clock_ns(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}

int touch(const Arguments& a) {
  const auto bytes = static_cast<std::size_t>(number(a, 0)) << 20;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  std::memset(memory, 1, bytes);
  if (a.size() > 1) ::munmap(memory, bytes);
  return 0;
}

/// Until it is told to stop, threads begin, touch one to four MiB, and end; others wake up often, so that they take
/// those CPUs where they can.
int threads_that_end(const Arguments&) {
  std::atomic<bool> stops{false};
  std::vector<std::thread> lasting;
  for (int i = 0; i < 2; ++i)
    lasting.emplace_back([&stops] {
      while (!stops) {
        ::usleep(50);
        burn(CLOCK_THREAD_CPUTIME_ID, 20'000);
      }
    });
  lasting.emplace_back([&] {
    while (!stops) {
      std::vector<std::thread> ending;
      for (int i = 0; i < 20; ++i)
        ending.emplace_back([i] {
          ::setpriority(PRIO_PROCESS, 0, 19);
          touch({std::to_string(i % 4 + 1), "and unmap"});
        });
      for (std::thread& each : ending) each.join();
    }
  });
  ::usleep(20000);
  report(0);
  char byte = 0;
  [[maybe_unused]] const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
  stops = true;
  for (std::thread& each : lasting) each.join();
  return 0;
}

/// Has threads that have touched a MiB each, becomes another user, and ends the threads by an exec.
int exec_as(const Arguments& a) {
  std::atomic<long> ready{0};
  for (long i = 0; i < number(a, 1); ++i)
    std::thread([&ready] {
      touch({"1", "and unmap"});
      ++ready;
      // What glibc has each do to change the user ends a pause.
      for (;;) ::pause();
    }).detach();
  while (ready < number(a, 1)) ::usleep(1000);
  const auto uid = static_cast<uid_t>(number(a, 0));
  if (::setresuid(uid, uid, uid) != 0) return 1;
  execute(call("exit", {"0"}));
}

/// A large program that spawns a small one.
int spawn_from_large(const Arguments& a) {
  touch({a.at(0)});
  return spawn_and_wait(call("exit", {"0"}));
}

int read_write(const Arguments& a) {
  const int in = ::open("/dev/zero", O_RDONLY);
  const int out = ::open("/dev/null", O_WRONLY);
  std::vector<char> buffer(static_cast<std::size_t>(number(a, 0)) + static_cast<std::size_t>(number(a, 1)));
  if (::read(in, buffer.data(), static_cast<std::size_t>(number(a, 0))) != number(a, 0)) return 1;
  if (::write(out, buffer.data(), static_cast<std::size_t>(number(a, 1))) != number(a, 1)) return 1;
  return 0;
}

/// A child that reads and writes much; the parent's own must not contain it.
int child_io(const Arguments&) { return spawn_and_wait(call("io", {"1000000", "2000000"})) == 0 ? 0 : 1; }

/// Each thread reads and writes; one ends before the leader, one after.
int threaded_io(const Arguments&) {
  std::thread early([] { read_write({"1000", "100"}); });
  early.join();
  std::thread([] {
    ::usleep(20000);
    read_write({"20000", "2000"});
    ::syscall(SYS_exit_group, 0);
  }).detach();
  read_write({"300000", "30000"});
  ::syscall(SYS_exit, 0);
  return 0;
}

int storage(const Arguments& a) {
  const int fd = ::open(a.at(0).c_str(), O_WRONLY);
  std::vector<char> block(1u << 20, 'x');
  for (long i = 0; i < number(a, 1); ++i)
    if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return 1;
  if ((a.at(2) == "sync" ? ::fsync(fd) : ::ftruncate(fd, 0)) != 0) return 1;
  // What the kernel says of this process now is the truth: the file system's own pages included.
  const int io = ::open("/proc/self/io", O_RDONLY);
  char text[1024] = {};
  if (::read(io, text, sizeof text - 1) <= 0) return 1;
  report(std::strtoull(std::strstr(text, "\nwrite_bytes: ") + 14, nullptr, 10));
  return 0;
}

int direct_storage(const Arguments& a) {
  const auto bytes = static_cast<std::size_t>(number(a, 1));
  void* buffer = nullptr;
  if (::posix_memalign(&buffer, 4096, bytes) != 0) return 1;
  std::memset(buffer, 1, bytes);
  const int fd = ::open(a.at(0).c_str(), O_RDWR | O_DIRECT);
  if (fd < 0) return 2;
  if (::pwrite(fd, buffer, bytes, 0) != static_cast<ssize_t>(bytes)) return 3;
  return ::pread(fd, buffer, bytes / 2, 0) == static_cast<ssize_t>(bytes / 2) ? 0 : 4;
}

void* exit_group_after(void* argument) {
  ::usleep(20000);
  burn(CLOCK_THREAD_CPUTIME_ID, 5'000'000);
  ::syscall(SYS_exit_group, static_cast<int>(reinterpret_cast<std::intptr_t>(argument)));
  return nullptr;
}

/// The leader ends with one status, a thread later with another; the process's is the latter.
int leader_first(const Arguments& a) {
  pthread_t thread;
  ::pthread_create(&thread, nullptr, exit_group_after,
                   reinterpret_cast<void*>(static_cast<std::intptr_t>(number(a, 1))));
  ::syscall(SYS_exit, static_cast<int>(number(a, 0)));
  return 0;
}

/// Every thread ends by itself with plain exit(2), the leader first.
int plain_exits(const Arguments& a) {
  static int second = 0;
  second = static_cast<int>(number(a, 1));
  pthread_t thread;
  ::pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        ::usleep(20000);
        ::syscall(SYS_exit, second);
        return nullptr;
      },
      nullptr);
  ::syscall(SYS_exit, static_cast<int>(number(a, 0)));
  return 0;
}

/// A second thread executes another program while the leader waits.
int second_thread_execs(const Arguments& a) {
  static std::vector<std::string> words;
  words = call("exit", {a.at(0)});
  burn(CLOCK_PROCESS_CPUTIME_ID, 30'000'000);
  pthread_t thread;
  ::pthread_create(
      &thread, nullptr, [](void*) -> void* { execute(words); }, nullptr);
  for (;;) ::pause();
}

int die_by(const Arguments& a) {
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(static_cast<int>(number(a, 0)), SIG_DFL);
  ::raise(static_cast<int>(number(a, 0)));
  return 0;
}

int double_fork(const Arguments& a) {
  const pid_t first = ::fork();
  if (first == 0) {
    if (::fork() == 0) {
      ::usleep(30000);
      ::_exit(static_cast<int>(number(a, 0)));
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(first, &status, 0);
  ::usleep(80000);
  return 0;
}

/// One process, several programs: each burns its share and executes the next.
int exec_chain(const Arguments& a) {
  burn(CLOCK_THREAD_CPUTIME_ID, static_cast<std::uint64_t>(number(a, 0)) * 1000u);
  touch({a.at(1)});
  if (a.size() == 2) return 7;
  execute(call("chain", Arguments(a.begin() + 2, a.end())));
}

int many_forks(const Arguments& a) {
  for (long i = 0; i < number(a, 0); ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(static_cast<int>(i % 256));
    int status = 0;
    ::waitpid(pid, &status, 0);
  }
  return 0;
}

int many_spawns(const Arguments& a) {
  for (long i = 0; i < number(a, 0); ++i)
    if (spawn_and_wait(call("exit", {"0"})) != 0) return 1;
  return 0;
}

int vfork_without_exec(const Arguments& a) {
  touch({a.at(0)});
  const pid_t pid = ::vfork();
  if (pid == 0) ::_exit(5);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return 0;
}

int fault(const Arguments& a) {
  const long page = ::sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::size_t>(number(a, 0)) * static_cast<std::size_t>(page);
  auto* memory =
      static_cast<volatile char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::madvise(const_cast<char*>(memory), bytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < bytes; at += static_cast<std::size_t>(page)) memory[at] = 1;
  return 0;
}

int nap(const Arguments& a) {
  for (long i = 0; i < number(a, 0); ++i) ::usleep(1000);
  return 0;
}

/// Two that want one CPU: each waits about as long in the run queue as it runs.
int share_cpu(const Arguments& a) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ::sched_setaffinity(0, sizeof one, &one);
  const pid_t pid = ::fork();
  burn(CLOCK_PROCESS_CPUTIME_ID, static_cast<std::uint64_t>(number(a, 0)) * 1000u);
  if (pid == 0) ::_exit(0);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return 0;
}

/// Then has as many children as a second argument says.
int hold(const Arguments& a) {
  burn(CLOCK_PROCESS_CPUTIME_ID, static_cast<std::uint64_t>(number(a, 0)) * 1000u);
  report(1);
  char byte = 0;
  if (::read(STDIN_FILENO, &byte, 1) != 1) return 1;
  return a.size() > 1 ? many_spawns({a.at(1)}) : 0;
}

/// Then executes a program that ends at once.
int hold_and_execute(const Arguments& a) {
  if (hold(a) != 0) return 1;
  execute(call("exit", {"0"}));
}

/// Has the kernel make a worker, lets it end, then burns, writes, and exits or executes.
int io_uring_worker(const Arguments& a) {
  if (!make_kernel_worker(a.at(0) == "polling")) return 90;
  ::usleep(300000);
  burn(CLOCK_THREAD_CPUTIME_ID, 50'000'000);
  if (a.at(1) == "exec") execute(call("exit", {"7"}));
  return read_write({"0", "1000"}) == 0 ? 5 : 91;
}

int dump_core(const Arguments& a) {
  if (::chdir(a.at(0).c_str()) != 0) return 1;
  rlimit some{64u << 20, 64u << 20};
  ::setrlimit(RLIMIT_CORE, &some);
  ::abort();
}

const std::map<std::string, std::function<int(const Arguments&)>>& programs() {
  static const std::map<std::string, std::function<int(const Arguments&)>> all = {
      {"exit", exit_with},
      {"run_tasks", run_tasks},
      {"watch_by_polling", watch_by_polling},
      {"cpu", cpu},
      {"threads", threads},
      {"threads_that_end", threads_that_end},
      {"exec_as", exec_as},
      {"touch", touch},
      {"resident", resident},
      {"hold_memory", hold_memory},
      {"hold_in_two_children", hold_in_two_children},
      {"hold_shared", hold_shared},
      {"hold_mapped", hold_mapped},
      {"hold_past_child", hold_past_child},
      {"read_at_pace", read_at_pace},
      {"sleep_in_children", sleep_in_children},
      {"first_thread_gone", first_thread_gone},
      {"spawn_from_large", spawn_from_large},
      {"io", read_write},
      {"child_io", child_io},
      {"threaded_io", threaded_io},
      {"storage", storage},
      {"direct_storage", direct_storage},
      {"leader_first", leader_first},
      {"plain_exits", plain_exits},
      {"second_thread_execs", second_thread_execs},
      {"die_by", die_by},
      {"end_child", end_child},
      {"double_fork", double_fork},
      {"chain", exec_chain},
      {"many_forks", many_forks},
      {"many_spawns", many_spawns},
      {"vfork_without_exec", vfork_without_exec},
      {"fault", fault},
      {"nap", nap},
      {"share_cpu", share_cpu},
      {"hold", hold},
      {"hold_and_execute", hold_and_execute},
      {"io_uring_worker", io_uring_worker},
      {"dump_core", dump_core},
      {"wait", wait_for},
      {"crew", crew},
      {"together", together},
      {"threaded_crowd", threaded_crowd},
      {"scattered_crowd", scattered_crowd},
      {"exec_from_threads", exec_from_threads},
      {"pipe_waiters_apart", pipe_waiters_apart},
      {"quiet_crowd", quiet_crowd},
      {"threads_beyond_room", threads_beyond_room},
      {"crews_beyond_room", crews_beyond_room},
      {"end_in_cgroup", end_in_cgroup},
      {"starve_neighbor", starve_neighbor},
      {"exceed", exceed},
      {"live_in_containers", live_in_containers},
      {"work_behind_mount", work_behind_mount},
      {"use_files", use_files},
      {"move_files", move_files},
      {"delete_many", delete_many},
      {"open_twice", open_twice},
      {"use_network", use_network},
      {"wait_for_peers", wait_for_peers},
      {"many_peers", many_peers},
      {"act_as_users", act_as_users},
      {"peers_of_users", peers_of_users},
      {"files_of_users", files_of_users},
      {"many_files", many_files},
      {"rewrite_files", rewrite_files},
      {"make_calls", make_calls},
      {"ask_gpu", ask_gpu},
      {"call_when_told", call_when_told},
      {"share_files", share_files},
      {"use_disk", use_disk},
      {"read_pages", read_pages},
      {"read_cached", read_cached},
      {"share_disks", share_disks},
      {"shell", shell},
  };
  return all;
}

}  // namespace

std::vector<std::string> call(const std::string& name, std::vector<std::string> arguments) {
  std::vector<std::string> words = {"kernel_tests", "truth", name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

void execute(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(kSelf, argv.data());
  ::_exit(99);
}

int run(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], "truth") != 0) return -1;
  const auto program = programs().find(argv[2]);
  if (program == programs().end()) return 97;
  return program->second(Arguments(argv + 3, argv + argc));
}

}  // namespace truth
