// SPDX-License-Identifier: Apache-2.0
/// What an announcement costs: the call, and the rounds of a reader that follow it, with so many processes living; and
/// the memory of 100,000 of them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tracer/session.hpp>

#include "wire_builder.hpp"
#include "wire_source.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Of this process, in memory now.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// As a plugin tells of a task before it begins.
tracer::Announcement task(int n) {
  tracer::Announcement announcement;
  announcement.key = tracer::InWorkDir{fmt::format("/scratch/project/work/{:02x}/{:030x}", n % 256, n)};
  announcement.context = {.pipeline = "nf-core/rnaseq",
                          .run = "happy_curie",
                          .step = "NFCORE_RNASEQ:RNASEQ:ALIGN_STAR:STAR_ALIGN",
                          .sample = fmt::format("SAMPLE_{:06}", n),
                          .task = fmt::format("NFCORE_RNASEQ:RNASEQ:ALIGN_STAR:STAR_ALIGN (SAMPLE_{:06})", n),
                          .task_id = fmt::format("{:02x}/{:030x}", n % 256, n)};
  announcement.requested = {.millicpus = 4000, .memory_bytes = 8ull << 30, .tag = fmt::format("SAMPLE_{:06}", n)};
  return announcement;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint32_t living = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 10000;
  auto owned = std::make_unique<wire::WireSource>();
  wire::WireSource& source = *owned;
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  tracer::Session session(tracer::Source(std::move(owned)), std::move(options));
  session.start();
  const wire::Who shell{.pid = 1, .start_ns = 1000};
  source.push(wire::start_record(shell));
  for (std::uint32_t n = 0; n < living; ++n) {
    const wire::Who child = wire::child_of(shell, 100 + n, 2000 + n);
    source.push(wire::start_record(child));
    source.push(wire::exec_record(child, {.time_ns = 3000 + n, .program_start_ns = 2000 + n, .cwd = "/work"}));
  }
  while (session.poll(std::chrono::milliseconds(0)) != 0) continue;
  std::vector<double> calls;
  std::vector<double> rounds;
  for (int n = 0; n < 201; ++n) {
    tracer::Context context;
    context.task = "TASK " + std::to_string(n);
    const auto begin = Clock::now();
    session.announce({tracer::InWorkDir{"/data/" + std::to_string(n)}, context});
    calls.push_back(us_since(begin));
    // A process that has nothing to do with it ends, and so takes it in.
    const auto round = Clock::now();
    source.push(wire::exit_record(
        wire::child_of(shell, 100 + static_cast<std::uint32_t>(n), 2000u + static_cast<std::uint32_t>(n)),
        {.time_ns = 100000, .program_start_ns = 3000u + static_cast<std::uint32_t>(n)}));
    while (session.poll(std::chrono::milliseconds(0)) != 0) continue;
    rounds.push_back(us_since(round));
  }
  fmt::print("{} living: a call {:.1f} us, most {:.1f}; the round that takes it in {:.1f} us, most {:.1f}\n", living,
             median(calls), *std::max_element(calls.begin(), calls.end()), median(rounds),
             *std::max_element(rounds.begin(), rounds.end()));
  constexpr int kMany = 100'000;
  const std::uint64_t before = resident_bytes();
  for (int n = 0; n < kMany; ++n) session.announce(task(n));
  fmt::print("{} announcements: {:.1f} MiB\n", kMany, static_cast<double>(resident_bytes() - before) / (1 << 20));
}
