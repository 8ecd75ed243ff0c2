// SPDX-License-Identifier: Apache-2.0
#include "state/group_memory.hpp"

#include <doctest/doctest.h>

#include "summed_events.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

ProgramAccount lived(std::uint64_t begin_ns, std::uint64_t end_ns, std::optional<std::uint64_t> peak) {
  return summed::program_of({.start_ns = begin_ns, .end_ns = end_ns, .peak = peak});
}

}  // namespace

TEST_CASE("the peak of one alone is known without a snapshot") {
  GroupMemory memory;
  memory.ended(lived(10, 20, 500), true);
  CHECK(memory.peak().exact());
  CHECK(memory.peak().at_least_bytes == 500);
}

TEST_CASE("of those that come one after the other the largest is the peak") {
  GroupMemory memory;
  memory.ended(lived(10, 20, 500), true);
  memory.ended(lived(20, 40, 700), true);
  CHECK(memory.peak().exact());
  CHECK(memory.peak().at_least_bytes == 700);
}

TEST_CASE("between what a snapshot saw and the sum of those that lived at once is the peak") {
  GroupMemory memory;
  memory.add(summed::sample_at(15, 1, 600));
  memory.add(summed::sample_at(15, 2, 300));
  memory.end_snapshot();
  memory.ended(lived(10, 20, 700), true);
  memory.ended(lived(12, 40, 500), true);
  const PeakBounds peak = memory.peak();
  CHECK_FALSE(peak.exact());
  CHECK(peak.at_least_bytes == 900);
  CHECK(peak.at_most_bytes == 1200);
}

TEST_CASE("a snapshot that saw nearly all that there can be leaves no doubt") {
  GroupMemory memory;
  memory.add(summed::sample_at(15, 1, 995));
  memory.end_snapshot();
  memory.ended(lived(10, 20, 500), true);
  memory.ended(lived(12, 40, 500), true);
  CHECK(memory.peak().exact());
  CHECK(memory.peak().at_least_bytes == 995);
}

TEST_CASE("there is no upper bound where the peak of one is not known") {
  GroupMemory memory;
  memory.ended(lived(10, 20, 500), true);
  memory.ended(lived(11, 12, {}), false);  // A mere copy.
  CHECK(memory.peak().exact());
  GroupMemory living = memory;
  living.peak_unknown();
  CHECK_FALSE(living.peak().at_most_bytes.has_value());
  memory.ended(lived(11, 12, {}), true);
  CHECK_FALSE(memory.peak().at_most_bytes.has_value());
  CHECK(memory.peak().at_least_bytes == 500);
}

TEST_CASE("bounds of one process's peak are bounds of all") {
  GroupMemory memory;
  ProgramAccount several_times = lived(10, 20, {});
  several_times.account.peak_rss_at_most_bytes = 900;
  memory.ended(several_times, true);
  CHECK(memory.peak().at_least_bytes == 0);
  several_times.account.peak_rss_at_least_bytes = 300;
  memory.ended(several_times, true);
  CHECK(memory.peak().at_least_bytes == 300);
  CHECK(memory.peak().at_most_bytes == 1800);
}

TEST_CASE("what others held counts, too") {
  GroupMemory memory;
  memory.ended(lived(10, 20, 500), true);
  GroupMemory others;
  others.ended(lived(15, 30, 600), true);
  memory.add(others);
  CHECK(memory.peak().at_least_bytes == 600);
  CHECK(memory.peak().at_most_bytes == 1100);
}

TEST_CASE("a process that lives on holds what it has beside those that end, and once in all of its parts") {
  GroupMemory memory;
  memory.worked(700, 700);
  memory.worked(900, 900);
  CHECK(memory.peak().exact());
  CHECK(memory.peak().at_least_bytes == 900);
  memory.ended(lived(10, 20, 500), true);
  CHECK(memory.peak().at_least_bytes == 900);
  CHECK(memory.peak().at_most_bytes == 1400);
  memory.worked(950, {});
  CHECK(memory.peak().at_least_bytes == 950);
  CHECK_FALSE(memory.peak().at_most_bytes.has_value());
}
