// SPDX-License-Identifier: Apache-2.0
#include "truth_oom.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage.hpp"
#include "truth_tools.hpp"

namespace truth {
namespace {

constexpr std::size_t kMiB = 1u << 20;

void take_mib(std::size_t mib) {
  void* const memory = ::mmap(nullptr, mib * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(3);
  for (std::size_t at = 0; at < mib * kMiB; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
}

/// Which says, through its pipe, when it has what it wants.
struct Child {
  pid_t pid = -1;
  int says = -1;
};

Child child_in(const std::string& procs, std::size_t mib) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return {};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    if (!write_text(procs, "0")) ::_exit(2);
    take_mib(mib);
    [[maybe_unused]] const ssize_t put = ::write(ends[1], "x", 1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

/// False: it has ended before.
bool await(const Child& child) {
  char byte = 0;
  const bool ready = ::read(child.says, &byte, 1) == 1;
  ::close(child.says);
  return ready;
}

int status_of(const Child& child) {
  int status = -1;
  ::waitpid(child.pid, &status, 0);
  return status;
}

bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace

int end_in_cgroup(const Arguments& arguments) {
  const bool exceeds = arguments.at(2) == "exceed";
  for (long left = number(arguments, 0); left > 0; --left) {
    const Child child = child_in(arguments.at(1), exceeds ? 256 : 12);
    if (await(child) == exceeds) return 1;
    if (!exceeds) ::kill(child.pid, SIGKILL);
    if (!was_killed(status_of(child))) return 2;
    report(static_cast<std::uint64_t>(child.pid));
  }
  return 0;
}

int starve_neighbor(const Arguments& arguments) {
  const Child large = child_in(arguments.at(0), 12);
  if (!await(large)) return 1;
  const Child small = child_in(arguments.at(0), 6);
  const bool got_it = await(small);
  ::kill(small.pid, SIGTERM);
  ::kill(large.pid, SIGTERM);
  status_of(small);
  if (!was_killed(status_of(large)) || !got_it) return 2;
  report(static_cast<std::uint64_t>(large.pid));
  report(static_cast<std::uint64_t>(small.pid));
  return 0;
}

int exceed(const Arguments& arguments) {
  if (!write_text(arguments.at(0), "0")) return 2;
  take_mib(256);
  return 0;
}

int shell(const Arguments& arguments) {
  ::execl("/bin/sh", "sh", "-c", arguments.at(0).c_str(), nullptr);
  return 127;
}

}  // namespace truth
