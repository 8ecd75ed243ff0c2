// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <doctest/doctest.h>

#include "truth.hpp"

tracer::ProcessExit Capture::exit() const {
  std::optional<tracer::ProcessExit> found;
  for (const auto& each : all<tracer::ProcessExit>()) {
    if (each.process->pid != static_cast<std::uint32_t>(pid)) continue;
    REQUIRE_MESSAGE(!found, "the process was reported twice");
    found = each;
  }
  REQUIRE_MESSAGE(found.has_value(), "the process was not reported");
  return *found;
}

std::vector<tracer::ProcessExit> Capture::other_exits() const {
  std::vector<tracer::ProcessExit> others;
  for (const auto& each : all<tracer::ProcessExit>())
    if (each.process->pid != static_cast<std::uint32_t>(pid)) others.push_back(each);
  return others;
}

Capture trace(const std::vector<std::string>& words, tracer::SessionOptions options) {
  int gate[2];
  int output[2];
  REQUIRE(::pipe2(gate, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(output, O_CLOEXEC) == 0);

  Capture capture;
  capture.pid = ::fork();
  if (capture.pid == 0) {
    char go = 0;
    if (::read(gate[0], &go, 1) != 1) ::_exit(96);
    ::dup2(output[1], STDOUT_FILENO);
    truth::execute(words);
  }
  ::close(gate[0]);
  ::close(output[1]);
  options.filter.include_tree(capture.pid);
  tracer::Session session(std::move(options));
  const auto subscription = session.on_any([&](const tracer::Event& event) { capture.events.push_back(event); });
  session.start();
  REQUIRE(::write(gate[1], "g", 1) == 1);
  ::close(gate[1]);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(output[0], buffer, sizeof buffer)) > 0;)
    capture.output.append(buffer, static_cast<std::size_t>(got));
  ::close(output[0]);
  REQUIRE(::wait4(capture.pid, &capture.status, 0, &capture.usage) == capture.pid);
  session.stop();
  capture.totals = session.totals();
  capture.statistics = session.statistics();
  return capture;
}

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

std::uint64_t cpu_ns_of(const rusage& usage) { return ns_of(usage.ru_utime) + ns_of(usage.ru_stime); }

bool kernel_at_least(int major, int minor) {
  utsname names{};
  ::uname(&names);
  int have_major = 0;
  int have_minor = 0;
  if (std::sscanf(names.release, "%d.%d", &have_major, &have_minor) != 2) return false;
  return have_major > major || (have_major == major && have_minor >= minor);
}
