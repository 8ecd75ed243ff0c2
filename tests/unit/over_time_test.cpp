// SPDX-License-Identifier: Apache-2.0
#include "report/sums/over_time.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::shared_ptr<const Context> context_of(const char* step, std::uint64_t task, std::uint64_t run = 7) {
  auto context = std::make_shared<Context>();
  context->step = step;
  context->run_key = Key{run};
  context->task_key = Key{task};
  return context;
}

std::shared_ptr<const Process> process_of(std::uint32_t pid, std::uint64_t start_ns,
                                          std::shared_ptr<const Context> context) {
  auto process = std::make_shared<Process>();
  process->pid = pid;
  process->start_ns = start_ns;
  process->context = std::move(context);
  return process;
}

Event exit_of(const std::shared_ptr<const Process>& process, std::uint64_t time_ns, std::uint64_t cpu_ns,
              std::optional<std::uint64_t> read_bytes) {
  ProcessExit exit;
  exit.time_ns = time_ns;
  exit.process = process;
  exit.account.cpu_ns = cpu_ns;
  exit.account.read_bytes = read_bytes;
  return Event(std::move(exit));
}

Event task_start(const std::shared_ptr<const Context>& context, std::uint64_t time_ns) {
  TaskStart start;
  start.time_ns = start.start_ns = time_ns;
  start.context = context;
  return Event(std::move(start));
}

Event task_finish(const std::shared_ptr<const Context>& context, std::uint64_t time_ns) {
  TaskFinish finish;
  finish.time_ns = time_ns;
  finish.context = context;
  return Event(std::move(finish));
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

const Series& row_of(const std::vector<Series>& rows, const std::string& name) {
  for (const Series& row : rows)
    if (row.name == name) return row;
  FAIL("no row ", name);
  return rows.front();
}

}  // namespace

TEST_CASE("what a run consumed over time sums to its accounts, by step and in all") {
  OverTime over_time(Key{7});
  const auto align = context_of("align", 1);
  const auto sort = context_of("sort", 2);
  const auto process = process_of(10, kSecond, align);
  over_time.add(task_start(align, kSecond));
  ProcessSample sample;
  sample.time_ns = 3 * kSecond;
  sample.process = process;
  sample.account.cpu_ns = kSecond;
  sample.account.read_bytes = 500;
  sample.rss_anonymous_bytes = 4096;
  sample.rss_file_bytes = sample.rss_shared_bytes = 0;
  over_time.add(Event(sample));
  over_time.add(exit_of(process, 4 * kSecond, 2 * kSecond, 700));
  over_time.add(exit_of(process_of(11, 3 * kSecond, sort), 5 * kSecond, kSecond / 2, std::nullopt));
  over_time.add(exit_of(process_of(12, 3 * kSecond, context_of("align", 9, 8)), 5 * kSecond, kSecond, 1));
  const ResourcesOverTime sums = over_time.sums();
  const auto& rows = sums.rows;
  REQUIRE(rows.size() == 3);
  CHECK(sums.begin_ns == kSecond);
  CHECK(sum_of(row_of(rows, "").cpu_ns) == 5 * kSecond / 2);
  CHECK(sum_of(row_of(rows, "align").cpu_ns) == 2 * kSecond);
  CHECK(sum_of(row_of(rows, "sort").cpu_ns) == kSecond / 2);
  CHECK(sum_of(row_of(rows, "align").read_bytes) == 700);
  CHECK(row_of(rows, "sort").read_bytes.empty());
  CHECK(row_of(rows, "align").sent_bytes.empty());
  // A second of CPU in the first two seconds, and one in the third.
  const auto first = static_cast<std::size_t>(2 * kSecond / sums.part_ns);
  const auto& cpu_ns = row_of(rows, "align").cpu_ns;
  CHECK(sum_of({cpu_ns.begin(), cpu_ns.begin() + static_cast<std::ptrdiff_t>(first)}) ==
        doctest::Approx(1e9).epsilon(0.02));
}

TEST_CASE("tasks at once are the most that ran in a part") {
  OverTime over_time(Key{7});
  const auto one = context_of("align", 1), other = context_of("align", 2);
  over_time.add(task_start(one, 0));
  over_time.add(task_start(other, 10 * kSecond));
  over_time.add(task_start(other, 11 * kSecond));
  over_time.add(task_finish(one, 20 * kSecond));
  over_time.add(task_finish(other, 40 * kSecond));
  const ResourcesOverTime sums = over_time.sums();
  const auto& rows = sums.rows;
  const auto& tasks = row_of(rows, "align").tasks;
  const auto at = [&](std::uint64_t second) { return tasks.at(second * kSecond / sums.part_ns); };
  CHECK(at(5) == 1);
  CHECK(at(15) == 2);
  CHECK(at(30) == 1);
  CHECK(row_of(rows, "").tasks == tasks);
}
