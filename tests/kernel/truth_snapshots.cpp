// SPDX-License-Identifier: Apache-2.0
#include "truth_snapshots.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "truth_tools.hpp"

namespace truth {
namespace {

constexpr long kSteps = 100;

long number(const std::string& text) { return std::atol(text.c_str()); }

void rest(long ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

void take(long mib) {
  const auto bytes = static_cast<std::size_t>(mib) << 20;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  std::memset(memory, 1, bytes);
}

void wait_for_children() {
  while (::wait(nullptr) > 0) {
  }
}

}  // namespace

int hold_memory(const std::vector<std::string>& arguments) {
  take(number(arguments.at(0)));
  rest(number(arguments.at(1)));
  return 0;
}

int hold_in_two_children(const std::vector<std::string>& arguments) {
  for (const char* mib : {"100", "150"}) {
    if (::fork() != 0) continue;
    ::execl("/proc/self/exe", "kernel_tests", "truth", "hold_memory", mib, arguments.at(0).c_str(), nullptr);
    ::_exit(99);
  }
  wait_for_children();
  return 0;
}

int hold_shared(const std::vector<std::string>& arguments) {
  take(number(arguments.at(0)));
  for (long i = 0; i < number(arguments.at(1)); ++i) {
    if (::fork() != 0) continue;
    if (arguments.at(2) == "until_told") {
      char told = 0;
      ::_exit(::read(STDIN_FILENO, &told, 1) == 0 ? 0 : 1);
    }
    rest(number(arguments.at(2)));
    ::_exit(0);
  }
  wait_for_children();
  return 0;
}

namespace {

int map_and_rest(const char* file, long mib, long ms, bool write) {
  const int fd = ::open(file, O_RDWR);
  const auto bytes = static_cast<std::size_t>(mib) << 20;
  auto* memory = static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (memory == MAP_FAILED) return 1;
  long sum = 0;
  if (write) std::memset(memory, 1, bytes);
  for (std::size_t at = 0; at < bytes; at += 4096) sum += memory[at];
  rest(ms);
  return sum == 0 ? 1 : 0;
}

}  // namespace

int hold_mapped(const std::vector<std::string>& arguments) {
  const long mib = number(arguments.at(0));
  const long ms = number(arguments.at(2));
  const bool executes = arguments.size() > 3 && arguments[3] == "exec";
  if (arguments.size() > 3 && arguments[3] != "exec") return map_and_rest(arguments[3].c_str(), mib, ms, false);
  const int fd = ::memfd_create("tracer_truth", 0);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(mib) << 20) != 0) return 1;
  const std::string file = "/proc/self/fd/" + std::to_string(fd);
  for (long i = 0; i < number(arguments.at(1)); ++i) {
    if (::fork() != 0) continue;
    if (executes)
      ::execl("/proc/self/exe", "kernel_tests", "truth", "hold_mapped", arguments[0].c_str(), "0", arguments[2].c_str(),
              file.c_str(), nullptr);
    ::_exit(map_and_rest(file.c_str(), mib, ms, false));
  }
  const int status = map_and_rest(file.c_str(), mib, ms, true);
  wait_for_children();
  return status;
}

int hold_past_child(const std::vector<std::string>& arguments) {
  take(number(arguments.at(0)));
  if (::fork() == 0) {
    if (::fork() == 0) rest(number(arguments.at(1)));
    ::_exit(0);
  }
  rest(number(arguments.at(1)) + 100);
  return 0;
}

int sleep_in_children(const std::vector<std::string>& arguments) {
  for (long i = 0; i < number(arguments.at(0)); ++i) {
    if (::fork() != 0) continue;
    ::execl("/proc/self/exe", "kernel_tests", "truth", "wait", "sleep", arguments.at(1).c_str(), nullptr);
    ::_exit(99);
  }
  wait_for_children();
  return 0;
}

int first_thread_gone(const std::vector<std::string>& arguments) {
  const long ms = number(arguments.at(0));
  std::thread([ms] {
    rest(ms);
    ::exit(0);
  }).detach();
  burn(CLOCK_THREAD_CPUTIME_ID, 60'000'000);
  ::pthread_exit(nullptr);
}

int read_at_pace(const std::vector<std::string>& arguments) {
  const int fd = ::open(arguments.at(0).c_str(), O_RDONLY);
  const off_t size = ::lseek(fd, 0, SEEK_END);
  ::lseek(fd, 0, SEEK_SET);
  std::vector<char> block(static_cast<std::size_t>(size) / kSteps);
  std::string log;
  for (long step = 0; step < kSteps; ++step) {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    char line[64];
    std::snprintf(line, sizeof line, "%lld %lld\n", now.tv_sec * 1'000'000'000LL + now.tv_nsec,
                  static_cast<long long>(::lseek(fd, 0, SEEK_CUR)));
    log += line;
    if (::read(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return 1;
    rest(number(arguments.at(1)) / kSteps);
  }
  return ::write(STDOUT_FILENO, log.data(), log.size()) == static_cast<ssize_t>(log.size()) ? 0 : 1;
}

}  // namespace truth
