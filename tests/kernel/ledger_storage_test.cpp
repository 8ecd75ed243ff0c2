// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "storage.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

}  // namespace

TEST_CASE("a slow disk is a disk, also where its file is mapped and a page fault reads it") {
  const auto disk = ScratchDisk::make(64 * kMiB);
  const auto cgroup = disk ? LimitedCgroup::make("blkio") : std::nullopt;
  const std::string rate = std::to_string(4 * kMiB);
  const bool slow =
      cgroup && (cgroup->is_v1() ? cgroup->limit("blkio.throttle.read_bps_device", disk->number() + " " + rate)
                                 : cgroup->limit("io.max", disk->number() + " rbps=" + rate));
  if (!slow) {
    MESSAGE("SKIP: no disk here, or none that can be made slow");
    return;
  }
  const std::string bytes = std::to_string(3 * kMiB / 2);
  // Each reads what no other has read.
  const std::vector<std::pair<std::string, std::string>> ways = {{"direct", "disk"}, {"read", "disk"}, {"map", "disk"}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto& [way, cause] = ways[i];
    CAPTURE(way);
    const std::string offset = std::to_string((16 * i + 8) * kMiB);
    const Capture capture =
        trace(truth::call("wait", {"in_cgroup", cgroup->procs(), "disk", way, disk->path(), offset, bytes}));
    expect::sound(capture);
    const auto numbers = expect::told(capture);
    REQUIRE(numbers.size() == 1);
    CHECK(numbers[0] >= 200 * expect::kMillisecond);
    if (const auto ledger = expect::program_ledger(capture)) expect::waits(*ledger, {{cause, numbers[0]}});
  }
}

TEST_CASE("a process that exceeds its cgroup's memory frees some of it itself") {
  const auto cgroup = LimitedCgroup::make("memory");
  const std::string folder = storage_folder();
  const std::uint64_t limit = 16 * kMiB;
  const bool limited =
      cgroup && cgroup->limit(cgroup->is_v1() ? "memory.limit_in_bytes" : "memory.max", std::to_string(limit));
  if (!limited || folder.empty()) {
    MESSAGE("SKIP: no file system with storage here, or no limit on memory");
    return;
  }
  const std::string file = folder + "/tracer_reclaim." + std::to_string(::getpid());
  const Capture capture = trace(truth::call("wait", {"in_cgroup", cgroup->procs(), "write", file, "256"}));
  ::unlink(file.c_str());
  // Much of it is in the kernel, which others wake into: there the scheduler's clock is old by milliseconds.
  expect::sound(capture, 10 * expect::kMillisecond);
  const auto ledger = expect::program_ledger(capture);
  if (!ledger) return;
  MESSAGE("reclaim " << ledger->reclaim_ns << " ns, disk " << ledger->disk_ns << " ns, CPU " << ledger->cpu_ns
                     << " ns of " << ledger->wall_ns);
  // Where it waits is the kernel's choice: while it frees, or before, for what it has written to reach the disk.
  CHECK(ledger->reclaim_ns + ledger->disk_ns > 0);
  // Version 1 makes nobody wait before.
  if (cgroup->is_v1()) CHECK(ledger->reclaim_ns > ledger->wall_ns / 10);
}
