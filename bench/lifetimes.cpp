// SPDX-License-Identifier: Apache-2.0
/// Prints the CPU time of all threads for one process lifetime in user space, from the kernel's bytes to a recording:
/// lifetimes [COUNT [FILE]]. No privileges, no kernel.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <tracer/session.hpp>
#include <tracer/sink.hpp>

#include "wire_builder.hpp"
#include "wire_source.hpp"

namespace {

constexpr std::uint32_t kLivesAtATime = 256;

std::uint64_t scatter(std::uint64_t value) { return (value * 0x9e3779b97f4a7c15u) >> 40; }

double cpu_ns(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

tracer_wire_account consumed(std::uint64_t seed) {
  tracer_wire_account account{};
  account.cpu_ns = 400'000 + scatter(seed) % 100'000;
  account.user_sampled_ns = 1'000'000;
  account.minor_faults = 90 + scatter(seed + 2) % 8;
  account.read_bytes = 816 + scatter(seed + 3) % 4096;
  account.read_calls = 3;
  return account;
}

/// The life of a process in three records, as a shell's loop makes them.
void push_life(wire::WireSource& source, const wire::Who& shell, std::uint32_t pid) {
  wire::Who who = wire::child_of(shell, pid, 1'000'000'000ull + pid * 700'000ull);
  source.push(wire::start_record(who));
  who.comm = "samtools";
  wire::Exec exec{.time_ns = who.start_ns + 100'000, .program_start_ns = who.start_ns};
  exec.exe = "/usr/bin/samtools";
  exec.cwd = "/data/work/ab/cdef0123456789";
  exec.argv = {"samtools", "flagstat", "--threads", "1", "sample_" + std::to_string(pid % 500) + ".bam"};
  exec.total = consumed(pid);
  source.push(wire::exec_record(who, exec));
  wire::Exit exit{.time_ns = who.start_ns + 600'000, .program_start_ns = exec.time_ns};
  exit.total = consumed(pid + 7);
  source.push(wire::exit_record(who, exit));
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000);
  const std::string file = argc > 2 ? argv[2] : "/dev/null";
  auto owned = std::make_unique<wire::WireSource>();
  wire::WireSource& source = *owned;
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  tracer::Session session(tracer::Source(std::move(owned)), options);
  const tracer::SinkHandle sink =
      session.add_sink(tracer::recording_sink(file, session.host()), {.capacity_bytes = std::size_t{4} << 30});
  const wire::Who shell{.pid = 1, .start_ns = 5, .comm = "bash"};
  source.push(wire::start_record(shell));
  double pushing_ns = 0;
  const double begin_ns = cpu_ns();
  session.start();
  for (std::uint32_t done = 0; done < count;) {
    const double push_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint32_t end = std::min(count, done + kLivesAtATime); done < end; ++done)
      push_life(source, shell, done + 2);
    pushing_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - push_ns;
    while (session.statistics().records < 3ull * done) session.poll(std::chrono::milliseconds(0));
  }
  session.stop();
  const double spent_ns = cpu_ns() - begin_ns - pushing_ns;
  if (sink.dropped() != 0) return EXIT_FAILURE;
  std::printf("%.0f ns of CPU a lifetime\n", spent_ns / count);
}
