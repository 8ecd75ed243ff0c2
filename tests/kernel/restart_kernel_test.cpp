// SPDX-License-Identifier: Apache-2.0
/// A kernel side that outlives the source that loaded it, and the next source, which goes on with it or takes over.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "children.hpp"
#include "kept.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/kernel/load/restart_kernel.hpp"

using namespace tracer::internal;

namespace {

using Identity = std::pair<std::uint32_t, std::uint64_t>;

void run_children(int count) {
  require_success(start_parent(
      count, [] {}, [] {}));
}

void drain_all(Source& source, Feed& feed) {
  source.settle(std::chrono::seconds(10));
  const std::uint64_t end = source.end_position();
  while (source.position() < end) source.drain(feed, {});
}

KernelSourceOptions options_with(std::shared_ptr<KeptKernel> keep, std::uint32_t rings) {
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  options.ring_bytes = 8u << 20;
  options.rings = rings;
  options.families = {tracer::Family::kWaits, tracer::Family::kFiles};
  options.keep = std::move(keep);
  return options;
}

/// As a service manager keeps them.
KeptKernel::Descriptors copies_of(const KeptKernel& keep) {
  KeptKernel::Descriptors copies;
  for (const auto& [name, fd] : keep.descriptors()) copies.emplace(name, UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  return copies;
}

/// For each process, 's' for its start, 'x' for an exec, 'e' for its end.
std::map<Identity, std::string> orders_in(const std::vector<Record>& records) {
  std::map<Identity, std::string> orders;
  for (const Record& record : records) {
    const auto note = [&](const RecordIdentity& identity, char what) {
      orders[{identity.pid, identity.start_ns}] += what;
    };
    if (const auto* start = std::get_if<StartRecord>(&record)) note(start->identity, 's');
    if (const auto* exec = std::get_if<ExecRecord>(&record)) note(exec->identity, 'x');
    if (const auto* exit = std::get_if<ExitRecord>(&record)) note(exit->identity, 'e');
  }
  return orders;
}

std::map<std::string, int> counts_of(const std::map<Identity, std::string>& orders) {
  std::map<std::string, int> counts;
  for (const auto& [identity, order] : orders) ++counts[order];
  return counts;
}

}  // namespace

TEST_CASE("a source that goes on with a kept kernel side yields once what the one before did not" *
          doctest::test_suite("essential")) {
  for (const std::uint32_t rings : {1u, 2u}) {
    CAPTURE(rings);
    const auto keep = std::make_shared<KeptKernel>();
    KeptKernel::Descriptors left;
    std::vector<std::uint64_t> given;
    Kept before;
    {
      const auto source = kernel_source(options_with(keep, rings));
      source->start(before);
      run_children(20);
      drain_all(*source, before);
      CHECK(source->kernel_side()->unreleased_share() > 0);
      given = source->kernel_side()->given();
      // This is read, and lost with the process.
      Kept lost;
      run_children(5);
      drain_all(*source, lost);
      CHECK(counts_of(orders_in(lost.records)) == std::map<std::string, int>{{"sxe", 5}, {"se", 1}});
      left = copies_of(*keep);
    }
    CHECK(counts_of(orders_in(before.records)) == std::map<std::string, int>{{"sxe", 20}, {"se", 1}});
    // Nobody reads.
    run_children(7);

    auto again = options_with(std::make_shared<KeptKernel>(std::move(left), keep->prints()), rings);
    again.released = given;
    const auto source = kernel_source(again);
    REQUIRE(again.keep->continues());
    Kept after;
    source->start(after);
    run_children(9);
    drain_all(*source, after);
    const auto orders = orders_in(after.records);
    CHECK(counts_of(orders) == std::map<std::string, int>{{"sxe", 5 + 7 + 9}, {"se", 3}});
    for (const auto& [identity, order] : orders_in(before.records)) CHECK_FALSE(orders.contains(identity));
    source->kernel_side()->release(source->kernel_side()->given());
    CHECK(source->kernel_side()->unreleased_share() == 0);
    CHECK(source->counters().losses.empty());
    source->stop();
    while (source->drain(after, {})) continue;
  }
}

TEST_CASE("a source with other programs takes over, and each process is told once" * doctest::test_suite("essential")) {
  for (const std::uint32_t rings : {1u, 2u}) {
    CAPTURE(rings);
    constexpr int kChildren = 400;
    const auto keep = std::make_shared<KeptKernel>();
    KeptKernel::Descriptors left;
    Kept all;
    std::vector<std::uint64_t> given;
    pid_t parent = 0;
    {
      const auto source = kernel_source(options_with(keep, rings));
      source->start(all);
      parent = start_parent(
          kChildren, [] {}, [] {});
      run_children(10);
      drain_all(*source, all);
      given = source->kernel_side()->given();
      source->kernel_side()->release(given);
      left = copies_of(*keep);
    }
    auto options = options_with(std::make_shared<KeptKernel>(std::move(left), keep->prints()), rings);
    options.keep->left_form(KeptKernel::form_of_now());
    options.released = given;
    // The constants of its programs are others.
    options.max_processes *= 2;
    const auto source = kernel_source(options);
    REQUIRE_FALSE(options.keep->continues());
    REQUIRE(options.keep->has_other_side());
    source->start(all);
    CHECK_FALSE(options.keep->has_other_side());
    run_children(10);
    require_success(parent);
    drain_all(*source, all);
    source->stop();
    while (source->drain(all, {})) continue;
    // A second start of one that is known changes nothing: tests/unit/restart_left_side_test.cpp.
    auto orders = orders_in(all.records);
    for (auto& [identity, order] : orders)
      while (order.starts_with("ss")) order.erase(0, 1);
    CHECK(counts_of(orders) == std::map<std::string, int>{{"sxe", kChildren + 20}, {"se", 3}});
    CHECK(source->counters().losses.empty());
  }
}
