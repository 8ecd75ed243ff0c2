// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include <doctest/doctest.h>

#include "conformance.hpp"

namespace conformance {

/// A process of this machine that begins others, and ends them. To be made while there is one thread.
class Parent {
 public:
  Parent() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(ends[0]);
      serve(ends[1]);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Parent() {
    ::close(socket_);
    ::waitpid(pid_, nullptr, 0);
  }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;

  pid_t pid() const noexcept { return pid_; }
  pid_t begin() const { return ask(0); }
  /// False: it is not one of these.
  bool end(pid_t child) const { return ask(child) == child; }

 private:
  /// 0 begins one; a pid ends it.
  pid_t ask(pid_t request) const {
    pid_t answer = -1;
    REQUIRE(::send(socket_, &request, sizeof request, MSG_NOSIGNAL) == sizeof request);
    REQUIRE(::recv(socket_, &answer, sizeof answer, 0) == sizeof answer);
    return answer;
  }
  [[noreturn]] static void serve(int socket) {
    std::map<pid_t, int> waiting;
    for (pid_t request = 0; ::recv(socket, &request, sizeof request, 0) == sizeof request;) {
      const pid_t answer = request == 0 ? begin(socket, waiting) : end(request, waiting);
      ::send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    for (const auto& [pid, to_end] : waiting) ::close(to_end);
    while (::waitpid(-1, nullptr, 0) > 0) continue;
    ::_exit(0);
  }
  static pid_t begin(int socket, std::map<pid_t, int>& waiting) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
    const pid_t pid = ::fork();
    if (pid == 0) {
      // Only their parent may keep the others waiting.
      for (const auto& [other, to_end] : waiting) ::close(to_end);
      ::close(socket);
      ::close(ends[1]);
      char byte = 0;
      [[maybe_unused]] const ssize_t got = ::read(ends[0], &byte, 1);
      ::_exit(kStatus);
    }
    ::close(ends[0]);
    waiting.emplace(pid, ends[1]);
    return pid;
  }
  static pid_t end(pid_t child, std::map<pid_t, int>& waiting) {
    const auto found = waiting.find(child);
    if (found == waiting.end()) return -1;
    ::close(found->second);
    waiting.erase(found);
    return ::waitpid(child, nullptr, 0);
  }

  pid_t pid_ = -1;
  int socket_ = -1;
};

/// The part of a World that is the same wherever they are seen.
class RealProcesses {
 public:
  pid_t root() const noexcept { return inside_.pid(); }
  pid_t begin(bool outside = false) const { return (outside ? outside_ : inside_).begin(); }
  void end(pid_t pid) const { REQUIRE((inside_.end(pid) || outside_.end(pid))); }

 private:
  const Parent inside_;
  const Parent outside_;
};

}  // namespace conformance
