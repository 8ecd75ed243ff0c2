// SPDX-License-Identifier: Apache-2.0
/// Three sinks that nobody reads (a FIFO, a full pipe, a stopped terminal) beside one that writes a recording:
/// stalled_sinks [SECONDS]. Runs 1,000 processes a second meanwhile, and prints how long statistics() and stop() took,
/// and what the whole sink got. Needs root.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/session.hpp>
#include <tracer/sink.hpp>

#include "base/unique_fd.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using tracer::internal::UniqueFd;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Returns how many it ran.
std::uint64_t run_processes(std::chrono::seconds time) {
  constexpr std::chrono::milliseconds kPeriod(1);
  char name[] = "/bin/true";
  char* argv[] = {name, nullptr};
  std::uint64_t count = 0;
  auto next = Clock::now();
  for (const auto end = next + time; next < end; next += kPeriod, ++count) {
    std::this_thread::sleep_until(next);
    pid_t pid = 0;
    int status = 0;
    if (::posix_spawn(&pid, argv[0], nullptr, nullptr, argv, nullptr) != 0 || ::waitpid(pid, &status, 0) != pid ||
        status != 0)
      std::exit(EXIT_FAILURE);
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::seconds time(argc > 1 ? std::atoi(argv[1]) : 30);
  char folder[] = "/tmp/stalled-sinks-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return EXIT_FAILURE;
  const std::filesystem::path fifo = std::filesystem::path(folder) / "fifo";
  const std::filesystem::path whole = std::filesystem::path(folder) / "whole.tracer";
  if (::mkfifo(fifo.c_str(), 0600) != 0) return EXIT_FAILURE;
  const UniqueFd silent_reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return EXIT_FAILURE;
  const UniqueFd pipe_end(pipe[0]);
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  if (::unlockpt(terminal.get()) != 0 || ::ptsname_r(terminal.get(), name, sizeof name) != 0) return EXIT_FAILURE;

  tracer::SessionOptions options;
  options.filter.include_tree(::getpid());
  tracer::Session session(options);
  const tracer::SinkHandle stalled[] = {
      session.add_sink(tracer::recording_sink(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC), "FIFO", session.host())),
      session.add_sink(tracer::json_sink(pipe[1], "pipe", session.host())),
      session.add_sink(tracer::json_sink(::open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC), "terminal", session.host())),
  };
  const tracer::SinkHandle good = session.add_sink(tracer::recording_sink(whole, session.host()));
  session.start();

  std::atomic<bool> done{false};
  std::vector<double> answers_ms;
  std::thread asking([&] {
    while (!done) {
      const auto begin = Clock::now();
      session.statistics();
      answers_ms.push_back(ms_since(begin));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const std::uint64_t count = run_processes(time);
  done = true;
  asking.join();
  const auto begin = Clock::now();
  session.stop();
  const double end_ms = ms_since(begin);

  std::uint64_t exits = 0;
  tracer::RecordingReader reader(whole);
  while (const auto event = reader.next()) exits += event->kind() == tracer::EventKind::kProcessExit ? 1 : 0;
  std::sort(answers_ms.begin(), answers_ms.end());
  std::printf("%llu processes in %lld s; the whole sink: %llu exits, %llu events dropped, damage: %s\n",
              static_cast<unsigned long long>(count), static_cast<long long>(time.count()),
              static_cast<unsigned long long>(exits), static_cast<unsigned long long>(good.dropped()),
              reader.damage().any() ? "yes" : "none");
  std::printf("statistics(): %zu calls, median %.3f ms, 99.9th percentile %.3f ms, longest %.3f ms; stop(): %.0f ms\n",
              answers_ms.size(), answers_ms[answers_ms.size() / 2], answers_ms[answers_ms.size() * 999 / 1000],
              answers_ms.back(), end_ms);
  for (const tracer::SinkHandle& sink : stalled)
    std::printf("stalled: %s; %llu dropped\n", sink.problem() ? sink.problem()->what.c_str() : "no problem",
                static_cast<unsigned long long>(sink.dropped()));
  std::filesystem::remove_all(folder);
}
