// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_memory.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include <doctest/doctest.h>

using namespace tracer;
using namespace tracer::internal;

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

TEST_CASE("the share of one whose first thread has ended before the others is unknown") {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // A thread of its own, which lives on.
    pthread_t other;
    ::pthread_create(
        &other, nullptr,
        [](void* fd) -> void* {
          while (::getpid() > 0) {
            char state = 0;
            if (FILE* stat = std::fopen("/proc/self/stat", "r")) {
              if (std::fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = 0;
              std::fclose(stat);
            }
            if (state == 'Z' && ::write(static_cast<int>(reinterpret_cast<std::intptr_t>(fd)), "z", 1) == 1) break;
            ::usleep(1000);
          }
          ::pause();
          return nullptr;
        },
        reinterpret_cast<void*>(static_cast<std::intptr_t>(ready[1])));
    // The thread alone: pthread_exit would unwind the test.
    ::syscall(SYS_exit, 0);
  }
  REQUIRE(child > 0);
  ::close(ready[1]);
  char byte = 0;
  CHECK(::read(ready[0], &byte, 1) == 1);
  CHECK_FALSE(read_pss_bytes(static_cast<std::uint32_t>(child)).has_value());
  ::kill(child, SIGKILL);
  CHECK(::waitpid(child, nullptr, 0) == child);
  ::close(ready[0]);
}
