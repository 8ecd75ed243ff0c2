// SPDX-License-Identifier: Apache-2.0
/// A folder that looks like /proc, of processes with pids that no kernel gives.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/proc_stat.hpp"
#include "temp_file.hpp"

namespace fake_proc {

/// Beyond PID_MAX_LIMIT: no pidfd leads to one of the machine's own.
inline constexpr std::uint32_t kFirst = 5'000'000;

struct FakeProcess {
  std::uint32_t pid = kFirst;
  std::uint32_t parent = 1;
  std::string comm = "tool";
  char state = 'S';
  std::uint32_t flags = 0;
  std::uint64_t start_ticks = 1000;
  std::uint64_t user_ticks = 0;
  std::uint64_t children_ticks = 0;
  std::uint64_t threads = 1;
  std::uint64_t stack = 4096;
  std::uint64_t cpu_ns = 0;  ///< Of its first thread.
  std::uint64_t peak_kib = 0;
  int wait_status = 0;
  std::string words = "tool";  ///< Arguments; the executable is the first.
};

inline std::uint64_t ticks_now() { return tracer::internal::boot_time_ns() / tracer::internal::tick_ns(); }

class FakeProc {
 public:
  FakeProc() {
    write("loadavg", "0.00 0.00 0.00 1/100 1\n");
    set_forks(1000);
  }

  std::string root() const { return temp_.folder().string(); }
  void set_forks(std::uint64_t forks) { write("stat", fmt::format("cpu  1 2 3\nctxt 5\nprocesses {}\n", forks)); }

  enum class Files { kAll, kNeeded };

  void put(const FakeProcess& one, Files files = Files::kAll) {
    const std::string folder = fmt::format("{}/", one.pid);
    std::filesystem::create_directories(temp_.folder() / folder);
    write(folder + "stat",
          fmt::format(
              "{} ({}) {} {} 1 1 0 -1 {} 7 0 3 0 {} 0 {} 0 20 0 {} 0 {} 1000000 100 18446744073709551615 1 1 {} 0 "
              "0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 {}\n",
              one.pid, one.comm, one.state, one.parent, one.flags, one.user_ticks, one.children_ticks, one.threads,
              one.start_ticks, one.stack, one.wait_status));
    write(folder + "status",
          fmt::format("Name:\t{}\nUid:\t{}\t0\t0\t0\nVmHWM:\t    {} kB\nRssAnon:\t 400 kB\nRssFile:\t 40 kB\n"
                      "RssShmem:\t 4 kB\nvoluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t2\n",
                      one.comm, ::getuid(), one.peak_kib));
    changed();
    if (files == Files::kNeeded) return;
    write(folder + "schedstat", fmt::format("{} 5 1\n", one.cpu_ns));
    write(folder + "io",
          "rchar: 100\nwchar: 50\nsyscr: 3\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 0\n");
    write(folder + "cmdline", one.words + std::string(1, '\0') + "word" + std::string(1, '\0'));
    write(folder + "cgroup", "0::/\n");
  }
  void remove(std::uint32_t pid) { std::filesystem::remove_all(temp_.folder() / std::to_string(pid)); }

 private:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream file(temp_.folder() / name, std::ios::binary | std::ios::trunc);
    file << text;
  }
  /// A pid was given.
  void changed() { write("loadavg", fmt::format("0.00 0.00 0.00 1/100 {}\n", ++last_pid_)); }

  TempFile temp_;
  std::uint64_t last_pid_ = 1;
};

}  // namespace fake_proc
