// SPDX-License-Identifier: Apache-2.0
/// Kernels may refuse to delete from a map for reasons of their own. Here one always does: ended_threads is an array.
#include <bpf/libbpf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "wire.h"

#include "lifecycle.skel.h"
#include "source/kernel/load/kernel_types.hpp"
#include "source/kernel/load/libbpf_log.hpp"

using namespace tracer::internal;

namespace {

constexpr std::uint32_t kRingBytes = 16 << 20;
constexpr std::uint32_t kMostPids = 1 << 17;

std::uint32_t most_pids() {
  std::uint32_t pids = 0;
  std::ifstream("/proc/sys/kernel/pid_max") >> pids;
  return pids;
}

struct Closer {
  void operator()(lifecycle_bpf* skeleton) const noexcept { ::lifecycle_bpf__destroy(skeleton); }
  void operator()(ring_buffer* ring) const noexcept { ::ring_buffer__free(ring); }
};

/// Status by pid, of exit records.
using Exits = std::multimap<std::uint32_t, std::uint32_t>;

int keep_exit(void* to, void* data, std::size_t bytes) {
  const auto* record = static_cast<const tracer_wire_process_exit*>(data);
  if (bytes >= sizeof *record && record->header.kind == TRACER_WIRE_PROCESS_EXIT)
    static_cast<Exits*>(to)->emplace(record->header.pid, record->exit_code);
  return 0;
}

std::unique_ptr<lifecycle_bpf, Closer> programs(std::uint32_t pids) {
  std::unique_ptr<lifecycle_bpf, Closer> skeleton(::lifecycle_bpf__open());
  REQUIRE(skeleton != nullptr);
  const KernelTypes types;
  auto& maps = skeleton->maps;
  auto& programs = skeleton->progs;
  skeleton->rodata->track_all = 1;
  REQUIRE(::bpf_map__set_type(maps.ended_threads, BPF_MAP_TYPE_ARRAY) == 0);
  REQUIRE(::bpf_map__set_map_flags(maps.ended_threads, 0) == 0);
  REQUIRE(::bpf_map__set_max_entries(maps.ended_threads, pids + 1) == 0);
  REQUIRE(::bpf_map__set_max_entries(maps.events, kRingBytes) == 0);
  REQUIRE(::bpf_map__set_max_entries(maps.event_rings, 1) == 0);
  ::bpf_program__set_autoload(programs.process_prepare_exec, types.has_tracepoint("sched_prepare_exec"));
  for (bpf_program* not_needed :
       {programs.find_cpu_offsets, programs.count_here, programs.begin_scope, programs.end_scope, programs.put_in_scope,
        programs.read_scope, programs.living_tasks})
    ::bpf_program__set_autoload(not_needed, false);
  const LibbpfLog log;
  REQUIRE_MESSAGE(::lifecycle_bpf__load(skeleton.get()) == 0, log.tail());
  REQUIRE_MESSAGE(::lifecycle_bpf__attach(skeleton.get()) == 0, log.tail());
  return skeleton;
}

}  // namespace

TEST_CASE("a process with threads whose sums can't be deleted is told to have ended" *
          doctest::test_suite("essential")) {
  const std::uint32_t pids = most_pids();
  if (pids == 0 || pids > kMostPids) {
    MESSAGE("SKIP: an array of all pids would be too large: there may be " << pids);
    return;
  }
  constexpr std::uint32_t kProcesses = 20;
  Exits exits;
  const auto skeleton = programs(pids);
  const std::unique_ptr<ring_buffer, Closer> ring(
      ::ring_buffer__new(::bpf_map__fd(skeleton->maps.events), keep_exit, &exits, nullptr));
  REQUIRE(ring != nullptr);
  std::map<std::uint32_t, std::uint32_t> begun;  // Statuses by pid.
  for (std::uint32_t n = 0; n < kProcesses; ++n) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::thread([] {}).join();
      ::_exit(static_cast<int>(n));
    }
    begun.emplace(static_cast<std::uint32_t>(pid), n << 8);
    REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  }
  // Their last switches may come after they have been waited for.
  const auto all_are_told = [&] {
    REQUIRE(::ring_buffer__consume(ring.get()) >= 0);
    return std::all_of(begun.begin(), begun.end(), [&](const auto& each) { return exits.count(each.first) > 0; });
  };
  for (int tries = 0; tries < 100 && !all_are_told(); ++tries) ::usleep(20'000);
  for (const auto& [pid, status] : begun) {
    CAPTURE(pid);
    REQUIRE(exits.count(pid) == 1);
    CHECK(exits.find(pid)->second == status);
  }
}
