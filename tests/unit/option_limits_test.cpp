// SPDX-License-Identifier: Apache-2.0
/// Options and times at the ends of their range.
#include <tracer/session.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/source.hpp>

#include "collect.hpp"
#include "context/announcements.hpp"
#include "source/kernel/kernel_source.hpp"

using namespace tracer;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kEndless = milliseconds::max();

ErrorCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

/// Counts the snapshots that it is asked for.
class SnapshotSource final : public wire::ControlledSource {
 public:
  explicit SnapshotSource(int& snapshots) : snapshots_(snapshots) {}
  void snapshot(internal::Feed& feed, bool with_cgroups) override {
    ++snapshots_;
    wire::ControlledSource::snapshot(feed, with_cgroups);
  }

 private:
  int& snapshots_;
};

}  // namespace

TEST_CASE("an announcement may last as long as a number can say, and not end before it begins") {
  const auto lasting = [](milliseconds time) {
    return internal::checked({InWorkDir{"/data/ab"}, {.task = "A"}, {}, time}, internal::this_caller())
        .expires_after_ns;
  };
  constexpr std::uint64_t kYearNs = std::chrono::nanoseconds(std::chrono::hours(24 * 365)).count();
  CHECK(lasting(kEndless) > kYearNs);
  CHECK(lasting(milliseconds(0)) == 0);
  CHECK(lasting(milliseconds(3)) == 3'000'000);
  for (const milliseconds before : {milliseconds(-1), milliseconds::min()})
    CHECK(code_of([&] { lasting(before); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("the longest interval between snapshots has none but the last") {
  int snapshots = 0;
  SessionOptions options;
  options.reader = ReaderMode::kPoll;
  options.sample_interval = kEndless;
  Session session(Source(std::make_unique<SnapshotSource>(snapshots)), options);
  session.start();
  for (int n = 0; n < 5; ++n) session.poll(milliseconds(0));
  CHECK(snapshots == 0);
  session.stop();
  CHECK(snapshots == 1);
}

TEST_CASE("a share of a CPU is at least nothing, and a number") {
  const auto make = [](double share) {
    SessionOptions options;
    options.max_cost_share = share;
    return code_of([&] { const Session session(Source(std::make_unique<wire::WireSource>()), options); });
  };
  CHECK(make(-1) == ErrorCode::kInvalidArgument);
  CHECK(make(-std::numeric_limits<double>::infinity()) == ErrorCode::kInvalidArgument);
  CHECK(make(std::numeric_limits<double>::quiet_NaN()) == ErrorCode::kInvalidArgument);
  CHECK(make(0) == ErrorCode{});
  CHECK(make(std::numeric_limits<double>::infinity()) == ErrorCode{});
}

TEST_CASE("any number of processes may be remembered") {
  SessionOptions options;
  options.max_processes = std::numeric_limits<std::size_t>::max() / 4 + 1;
  collect::Polled run(options);
  for (std::uint32_t pid = 1; pid <= 3; ++pid) run.push(wire::start_record({.pid = pid, .start_ns = pid}));
  run.poll();
  CHECK(run.session->statistics().lost() == 0);
  CHECK(run.events.size() == 3);
}

TEST_CASE("a poll may wait for any time") {
  collect::Polled run;
  collect::push_life(*run.source, 1);
  CHECK(run.session->poll(milliseconds::min()) == 3);
  collect::push_life(*run.source, 2);
  CHECK(run.session->poll(kEndless) == 3);
}

TEST_CASE("sizes beyond what the kernel takes are refused, not cut") {
  using Kernel = internal::KernelSourceOptions;
  const auto code = [](std::size_t Kernel::*size, std::size_t value) {
    Kernel options;
    options.*size = value;
    return code_of([&] { internal::kernel_source(options); });
  };
  // One of them is a member of a base, which would decide for all.
  constexpr std::size_t Kernel::*kMaxProcesses = &Kernel::max_processes;
  for (const auto size : {&Kernel::ring_bytes, kMaxProcesses, &Kernel::max_threads, &Kernel::max_cgroups,
                          &Kernel::max_contexts, &Kernel::max_labeled_threads})
    for (const std::size_t value : {std::size_t{0}, std::size_t{1} << 32, (std::size_t{1} << 32) + 1,
                                    std::size_t{1} << 62, std::numeric_limits<std::size_t>::max()}) {
      CAPTURE(value);
      CHECK(code(size, value) == ErrorCode::kInvalidArgument);
    }
}
