// SPDX-License-Identifier: Apache-2.0
/// Session::flush() and SinkHandle::flush() on the real kernel: a process that was waited for is there.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/recording.hpp>
#include <tracer/session.hpp>

#include "truth.hpp"

namespace {

constexpr std::chrono::milliseconds kForever{-1};

void run(const std::vector<std::string>& words) {
  const pid_t pid = ::fork();
  if (pid == 0) truth::execute(words);
  ::waitpid(pid, nullptr, 0);
}

tracer::SessionOptions own_tree(tracer::ReaderMode reader) {
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid());
  options.families = {};
  options.reader = reader;
  return options;
}

std::size_t exits_in(const std::filesystem::path& file, int exit_code) {
  tracer::RecordingReader reader(file);
  std::size_t exits = 0;
  while (const auto event = reader.next()) {
    const auto* exit = event->get_if<tracer::ProcessExit>();
    if (exit != nullptr && exit->exit_code == exit_code) ++exits;
  }
  return exits;
}

}  // namespace

TEST_CASE("a process that was waited for has been reported when flush() returns" *
          doctest::test_suite("waits essential")) {
  constexpr int kRounds = 50;
  for (const auto reader : {tracer::ReaderMode::kOwnThread, tracer::ReaderMode::kPoll}) {
    tracer::Session session(own_tree(reader));
    std::atomic<int> starts{0};
    std::atomic<int> exits{0};
    const auto exit = session.on<tracer::ProcessExit>([&](const auto& each) { exits += each.exit_code == 3 ? 1 : 0; });
    const auto exec = session.on<tracer::ProcessExec>([&](const auto&) { ++starts; });
    session.start();
    REQUIRE(session.flush(kForever));
    for (int round = 1; round <= kRounds; ++round) {
      run(truth::call("exit", {"3"}));
      REQUIRE(session.flush(kForever));
      CHECK(starts == round);
      CHECK(exits == round);
    }
    session.stop();
    CHECK(session.flush(kForever));
  }
}

TEST_CASE("many threads flush while they fork: each finds its own in the recording" * doctest::test_suite("waits")) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 10;
  std::string folder = (std::filesystem::temp_directory_path() / "tracer-flush-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "recording";
  {
    tracer::Session session(own_tree(tracer::ReaderMode::kOwnThread));
    const tracer::SinkHandle sink = session.add_sink(tracer::recording_sink(file, session.host()));
    session.start();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        tracer::SinkHandle mine = sink;
        for (int round = 1; round <= kRounds; ++round) {
          run(truth::call("exit", {std::to_string(40 + thread)}));
          if (!session.flush(kForever) || !mine.flush(kForever)) ++wrong;
          if (exits_in(file, 40 + thread) != static_cast<std::size_t>(round)) ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
  std::filesystem::remove_all(folder);
}
