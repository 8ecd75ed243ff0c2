// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

/// A process whose children, one after another, execute a program. It begins with `first`, and each of them with
/// `of_child`.
template <class First, class OfChild>
pid_t start_parent(int children, const First& first, const OfChild& of_child) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  first();
  for (int n = 0; n < children; ++n) {
    const pid_t child = ::fork();
    if (child == 0) {
      of_child();
      ::execl("/bin/true", "true", nullptr);
      ::_exit(82);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) ::_exit(81);
  }
  ::_exit(0);
}

inline void require_success(pid_t pid) {
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
}
