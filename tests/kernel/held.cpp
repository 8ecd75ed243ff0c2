// SPDX-License-Identifier: Apache-2.0
#include "held.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "truth.hpp"

Held hold(const std::vector<std::string>& words) {
  int in[2];
  int out[2];
  REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    truth::execute(words);
  }
  ::close(in[0]);
  ::close(out[1]);
  for (char each = 0; each != '\n';) REQUIRE(::read(out[0], &each, 1) == 1);
  return {pid, in[1], out[0]};
}

rusage release(const Held& held, std::string* output) {
  REQUIRE(::write(held.in, "g", 1) == 1);
  if (output != nullptr) {
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(held.out, buffer, sizeof buffer)) > 0;)
      output->append(buffer, static_cast<std::size_t>(got));
  }
  rusage usage{};
  REQUIRE(::wait4(held.pid, nullptr, 0, &usage) == held.pid);
  ::close(held.in);
  ::close(held.out);
  return usage;
}
