// SPDX-License-Identifier: Apache-2.0
/// What truth programs that wait have in common, and those of them that wait for data.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth_tools.hpp"

namespace truth {

inline void sleep_ms(long ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

template <class F>
std::uint64_t waited_ns(const F& wait) {
  const std::uint64_t before = clock_ns(CLOCK_BOOTTIME);
  wait();
  return clock_ns(CLOCK_BOOTTIME) - before;
}

template <class F>
pid_t in_child(const F& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work();
    ::_exit(0);
  }
  return pid;
}

inline void reap(pid_t pid) { ::waitpid(pid, nullptr, 0); }

/// Stays open in both processes of a fork.
struct Pipe {
  int out = -1;
  int in = -1;
  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      out = ends[0];
      in = ends[1];
    }
  }
  ssize_t put(std::size_t bytes) const { return ::write(in, std::vector<char>(bytes).data(), bytes); }
  ssize_t take(std::size_t bytes) const { return ::read(out, std::vector<char>(bytes).data(), bytes); }
};

/// Reads a disk: {_, "direct", "read" or "map", disk, offset, bytes}.
int wait_for_disk(const Arguments& arguments);
/// Writes a file: {_, file, MiB}.
int write_much(const Arguments& arguments);
/// 96: no program is called so.
int wait_for_data(const std::string& name, long ms);

}  // namespace truth
