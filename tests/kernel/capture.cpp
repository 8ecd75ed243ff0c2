// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

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

namespace {

/// A child that executes `words` as this executable once it may, and what it writes.
class Gated {
 public:
  explicit Gated(const std::vector<std::string>& words) {
    REQUIRE(::pipe2(gate_, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(output_, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char go = 0;
      if (::read(gate_[0], &go, 1) != 1) ::_exit(96);
      ::dup2(output_[1], STDOUT_FILENO);
      truth::execute(words);
    }
    ::close(gate_[0]);
    ::close(output_[1]);
  }

  pid_t pid() const { return pid_; }

  void run_into(Capture& capture) const {
    capture.pid = pid_;
    REQUIRE(::write(gate_[1], "g", 1) == 1);
    ::close(gate_[1]);
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(output_[0], buffer, sizeof buffer)) > 0;)
      capture.output.append(buffer, static_cast<std::size_t>(got));
    ::close(output_[0]);
    REQUIRE(::wait4(pid_, &capture.status, 0, &capture.usage) == pid_);
  }

 private:
  int gate_[2];
  int output_[2];
  pid_t pid_;
};

}  // namespace

Capture trace(const std::vector<std::string>& words, tracer::SessionOptions options, tracer::Context context,
              const std::vector<tracer::Announcement>& announcements) {
  const Gated child(words);
  Capture capture;
  options.filter.include_tree(child.pid(), std::move(context));
  tracer::Session session(std::move(options));
  const auto subscription = session.on_any([&](const tracer::Event& event) { capture.events.push_back(event); });
  session.start();
  for (const tracer::Announcement& announcement : announcements) session.announce(announcement);
  child.run_into(capture);
  session.stop();
  capture.totals = session.totals();
  capture.statistics = session.statistics();
  return capture;
}

std::vector<Capture> trace_each(const std::vector<std::vector<std::string>>& calls) {
  std::vector<tracer::Event> events;
  tracer::Session session{tracer::SessionOptions{}};
  const auto subscription = session.on_any([&](const tracer::Event& event) { events.push_back(event); });
  session.start();
  std::vector<Capture> captures;
  for (const auto& words : calls) {
    const Gated child(words);
    session.track(child.pid());
    child.run_into(captures.emplace_back());
  }
  session.stop();
  for (Capture& capture : captures) capture.events = events;
  return captures;
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
