// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "truth.hpp"

namespace {

constexpr const char* kOrdinaryUser = "65534";

struct Watched {
  std::uint64_t status = 0;
  std::uint64_t truth_cpu_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t exits = 0;
  std::uint64_t missed_at_most = 0;
  std::uint64_t complete = 0;
  std::string report;
};

/// What a session of an ordinary user has seen of this program.
Watched watch(std::vector<std::string> words) {
  words.insert(words.begin(), kOrdinaryUser);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    truth::execute(truth::call("watch_by_polling", words));
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE_MESSAGE(status == 0, text);
  std::istringstream lines(text);
  Watched watched;
  lines >> watched.status >> watched.truth_cpu_ns >> watched.cpu_ns >> watched.exits >> watched.missed_at_most >>
      watched.complete;
  REQUIRE(!lines.fail());
  std::getline(lines, watched.report, '\0');
  return watched;
}

}  // namespace

TEST_CASE("without rights, a pipeline of 1 s tasks is seen, but for 5 % of its CPU time, and never more than all") {
  const Watched watched = watch({"run_tasks", "2", "4", "1000000"});
  CHECK(watched.status == 0);
  CHECK(watched.truth_cpu_ns >= 8'000'000'000u);
  CHECK(watched.cpu_ns >= watched.truth_cpu_ns / 100 * 95);
  CHECK(watched.cpu_ns <= watched.truth_cpu_ns);
  CHECK(watched.complete == 0);
  CHECK(watched.report.find("\npolled: at most") != std::string::npos);
}

TEST_CASE("of a storm of short processes at most so many were missed as the report says") {
  const Watched watched = watch({"many_spawns", "2000"});
  CHECK(watched.status == 0);
  REQUIRE(watched.exits <= 2001);
  CHECK(watched.missed_at_most >= 2001 - watched.exits);
  CHECK(watched.cpu_ns >= watched.truth_cpu_ns / 100 * 95);
  CHECK(watched.cpu_ns <= watched.truth_cpu_ns);
}

TEST_CASE("how a process ended is known where this user waits for it") {
  CHECK(watch({"exit", "7"}).report.find("status 7") != std::string::npos);
}
