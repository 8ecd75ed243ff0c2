// SPDX-License-Identifier: Apache-2.0
#include "source/proc_memory.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include <doctest/doctest.h>

using namespace tracer;

TEST_CASE("a process's share is its memory, and that of one that has ended is zero, reaped or not") {
  constexpr std::size_t kBytes = 16u << 20;
  const std::vector<char> held(kBytes, 'x');
  const auto own = read_pss_bytes(static_cast<std::uint32_t>(::getpid()));
  REQUIRE(own.has_value());
  CHECK(*own >= kBytes);

  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(child > 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(read_pss_bytes(static_cast<std::uint32_t>(child)) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(read_pss_bytes(static_cast<std::uint32_t>(child)) == 0);
}
