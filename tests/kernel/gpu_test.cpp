// SPDX-License-Identifier: Apache-2.0
/// What processes ask of a GPU's driver, against programs that call a made-up one in known ways.
#include <signal.h>
#include <sys/wait.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "fake_library.hpp"
#include "has_family.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kGpuMillisecond = 1'000'000;
constexpr std::uint64_t kGpuMiB = 1u << 20;

tracer::SessionOptions with_gpu() {
  tracer::SessionOptions options;
  // No snapshots: each use is reported once.
  options.families = {tracer::Family::kGpu};
  return options;
}

Capture trace_gpu(const std::string& how, tracer::SessionOptions options = with_gpu()) {
  return trace(truth::call("ask_gpu", {how}), std::move(options));
}

/// The only one.
tracer::GpuUse use_of(const Capture& capture) {
  const auto uses = capture.all<tracer::GpuUse>();
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].process->pid == static_cast<std::uint32_t>(capture.pid));
  CHECK(uses[0].interface == "cuda");
  CHECK(uses[0].library == fake_library::Installed::kPath);
  return uses[0];
}

std::uint64_t lost(const Capture& capture, const std::string& cause) {
  const auto found = capture.statistics.losses.find(cause);
  return found == capture.statistics.losses.end() ? 0 : found->second;
}

}  // namespace

TEST_CASE("what a process asks of a GPU's driver is counted" * doctest::test_suite("waits essential")) {
  const fake_library::Installed installed;
  const Capture capture = trace_gpu("all_kinds");
  if (!has_family(capture, "gpu")) return;
  CHECK(capture.status == 0);
  const tracer::GpuUse use = use_of(capture);
  CHECK(use.allocations == 113);
  CHECK(use.allocated_bytes == 110 * kGpuMiB + 150'000);
  CHECK(use.failed_allocations == 7);
  CHECK(use.frees == 60);
  CHECK(use.waits == 26);
  // No sleep is shorter than it was asked for. A copy that waits in another function is one wait.
  CHECK(use.wait_ns >= 180 * kGpuMillisecond);
  CHECK(use.wait_ns <= capture.exit().time_ns - capture.exit().process->start_ns);
  CHECK(use.context_switches == 6);
  CHECK(lost(capture, "gpu_table_full") == 0);
  CHECK(lost(capture, "ring_full_gpu_use") == 0);
}

TEST_CASE("no call of several threads to a GPU's driver is lost, nor counted twice") {
  const fake_library::Installed installed;
  const Capture capture = trace_gpu("threads");
  if (!has_family(capture, "gpu")) return;
  const tracer::GpuUse use = use_of(capture);
  // Where the kernel skips a program, it counts that: nothing is lost unsaid.
  const std::uint64_t skipped = lost(capture, "kernel_recursion");
  CHECK(use.allocations <= 10'000);
  CHECK(use.allocations + skipped >= 10'000);
  CHECK(use.waits <= 10'000);
  CHECK(use.waits + skipped >= 10'000);
}

TEST_CASE("waits for a GPU that the end of a process cuts short are counted, of each thread" *
          doctest::test_suite("waits")) {
  const fake_library::Installed installed;
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    const Capture capture = trace_gpu("killed");
    if (!has_family(capture, "gpu")) return;
    CHECK(WTERMSIG(capture.status) == SIGKILL);
    const tracer::GpuUse use = use_of(capture);
    CHECK(use.waits == 4);
    CHECK(use.wait_ns > 0);
    CHECK(use.wait_ns <= 4 * (capture.exit().time_ns - capture.exit().process->start_ns));
  }
}

TEST_CASE("calls to a GPU's driver that find no room are counted as lost" * doctest::test_suite("waits native")) {
  const fake_library::Installed installed;
  tracer::SessionOptions options = with_gpu();
  options.max_threads = 2;
  const Capture capture = trace_gpu("waiting_threads", std::move(options));
  if (!has_family(capture, "gpu")) return;
  CHECK(use_of(capture).waits == 2);
  CHECK(lost(capture, "gpu_table_full") == 2);
}

TEST_CASE("nothing that a process asks of a GPU's driver is counted unless it is asked for" *
          doctest::test_suite("waits native")) {
  const fake_library::Installed installed;
  const Capture capture = trace(truth::call("ask_gpu", {"all_kinds"}));
  CHECK(capture.status == 0);
  CHECK(capture.all<tracer::GpuUse>().empty());
}
