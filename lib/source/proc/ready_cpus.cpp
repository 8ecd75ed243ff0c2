// SPDX-License-Identifier: Apache-2.0
#include "source/proc/ready_cpus.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>

#include <fmt/format.h>

#include "base/proc_stat.hpp"
#include "base/text.hpp"
#include "source/proc/proc_files.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostThreadsAsked = 64;
constexpr std::size_t kMostCpusAsked = 8192;  ///< The kernel's own limit.
constexpr std::size_t kBitsOfWord = sizeof(unsigned long) * CHAR_BIT;

void add_affinity(std::uint32_t tid, std::set<std::uint32_t>& cpus) {
  std::array<unsigned long, kMostCpusAsked / kBitsOfWord> mask{};
  if (::syscall(SYS_sched_getaffinity, static_cast<pid_t>(tid), sizeof mask, mask.data()) < 0) return;
  for (std::size_t cpu = 0; cpu < kMostCpusAsked; ++cpu)
    if ((mask[cpu / kBitsOfWord] >> cpu % kBitsOfWord & 1) != 0) cpus.insert(static_cast<std::uint32_t>(cpu));
}

}  // namespace

std::set<std::uint32_t> cpus_of_ready_threads(const std::vector<std::uint32_t>& pids) {
  std::set<std::uint32_t> cpus;
  const ProcFiles files;
  for (const std::uint32_t pid : pids) {
    std::size_t asked = 0;
    for (const std::uint32_t tid : files.threads(pid)) {
      if (++asked > kMostThreadsAsked) break;
      const auto stat = parse_proc_stat(read_small_file(fmt::format("/proc/{}/task/{}/stat", pid, tid)).value_or(""));
      if (stat && stat->state == 'R') add_affinity(tid, cpus);
    }
  }
  return cpus;
}

}  // namespace tracer::internal
