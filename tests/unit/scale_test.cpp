// SPDX-License-Identifier: Apache-2.0
#include <tracer/scale.hpp>

#include <bit>

#include <doctest/doctest.h>

#include <tracer/host.hpp>
#include <tracer/session.hpp>

using namespace tracer;

namespace {

constexpr std::uint64_t kGiB = 1u << 30;

/// As docs/scale.md tells it.
std::uint64_t kernel_bytes(const Scale& scale) {
  return scale.ring_bytes + 568 * scale.max_processes + 424 * scale.max_threads + 132 * scale.max_cgroups;
}

}  // namespace

TEST_CASE("a large machine has room for 50,000 processes, 400,000 threads and 20,000 cgroups") {
  const Scale large = scale_for(128, 512 * kGiB);
  // Half of them may have several threads.
  CHECK(large.max_processes / 2 >= 50'000);
  CHECK(large.max_threads >= 400'000);
  CHECK(large.max_cgroups >= 20'000);
  CHECK(large.ring_bytes >= 16u << 20);
}

TEST_CASE("a laptop has what it always had") {
  for (const std::uint32_t cpus : {1u, 2u, 4u, 8u}) {
    const Scale scale = scale_for(cpus, 8 * kGiB);
    CHECK(scale.ring_bytes == 1u << 20);
    CHECK(scale.max_processes == 32768);
    CHECK(scale.max_threads == 32768);
    CHECK(scale.max_cgroups == 16384);
  }
}

TEST_CASE("room grows with CPUs, has a bound, and costs at most a 64th of the memory") {
  Scale before = scale_for(1, 1024 * kGiB);
  for (std::uint32_t cpus = 2; cpus <= 8192; cpus *= 2) {
    const Scale scale = scale_for(cpus, 1024 * kGiB);
    CAPTURE(cpus);
    CHECK(scale.ring_bytes >= before.ring_bytes);
    CHECK(scale.max_processes >= before.max_processes);
    CHECK(scale.max_threads >= before.max_threads);
    CHECK(scale.max_cgroups >= before.max_cgroups);
    before = scale;
  }
  CHECK(before.ring_bytes == 64u << 20);
  CHECK(before.max_threads == 1u << 20);
  for (const std::uint64_t memory : {2 * kGiB, 4 * kGiB, 64 * kGiB})
    CHECK(kernel_bytes(scale_for(1024, memory)) <= memory / 64);
}

TEST_CASE("where memory is short there is the least that is of use") {
  for (const std::uint64_t memory : {std::uint64_t{0}, kGiB / 8}) {
    const Scale scale = scale_for(128, memory);
    CHECK(scale.ring_bytes == 1u << 20);
    CHECK(scale.max_processes == 8192);
    CHECK(scale.max_threads == 8192);
    CHECK(scale.max_cgroups == 8192);
  }
  CHECK(scale_for(0, 64 * kGiB).max_processes == 32768);
}

TEST_CASE("a session's defaults are those of this machine") {
  const HostInfo host = this_host();
  const Scale scale = scale_for(host.cpu_count, host.memory_bytes);
  const SessionOptions options;
  CHECK(options.ring_bytes == scale.ring_bytes);
  CHECK(options.max_processes == scale.max_processes);
  CHECK(options.max_threads == scale.max_threads);
  CHECK(options.max_cgroups == scale.max_cgroups);
  CHECK(std::has_single_bit(options.ring_bytes));
}
