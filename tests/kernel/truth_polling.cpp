// SPDX-License-Identifier: Apache-2.0
#include "truth_polling.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include <tracer/report.hpp>
#include <tracer/run.hpp>
#include <tracer/session.hpp>
#include <tracer/summary.hpp>

#include "show/report_text.hpp"
#include "truth.hpp"
#include "truth_tools.hpp"

namespace truth {
namespace {

constexpr auto kTick = std::chrono::milliseconds(5);

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

std::uint64_t children_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
}

}  // namespace

int run_tasks(const Arguments& a) {
  for (long round = 0; round < number(a, 1); ++round) {
    for (long i = 0; i < number(a, 0); ++i)
      if (::fork() == 0) {
        const pid_t worker = ::fork();
        if (worker == 0) {
          // What it reports is nobody's here.
          ::close(STDOUT_FILENO);
          ::open("/dev/null", O_WRONLY);
          execute(call("cpu", {a.at(2)}));
        }
        int status = 0;
        ::waitpid(worker, &status, 0);
        ::_exit(WEXITSTATUS(status));
      }
    while (::wait(nullptr) > 0) {
    }
  }
  return 0;
}

int watch_by_polling(const Arguments& a) {
  const auto uid = static_cast<uid_t>(number(a, 0));
  if (::setgroups(0, nullptr) != 0 || ::setgid(uid) != 0 || ::setuid(uid) != 0) return 95;
  // As a program is that this user has started; a change of the user hides its files.
  ::prctl(PR_SET_DUMPABLE, 1);
  tracer::CommandOptions command_options;
  command_options.argv = call(a.at(1), Arguments(a.begin() + 2, a.end()));
  command_options.argv.front() = "/proc/self/exe";
  tracer::Command command(std::move(command_options));
  tracer::SessionOptions options;
  options.tiers = {tracer::Tier::kProc};
  options.reader = tracer::ReaderMode::kPoll;
  options.command_pid = command.pid();
  options.filter.include_tree(command.pid());
  tracer::Session session(std::move(options));
  tracer::CommandTrace command_trace(command.pid());
  tracer::Summary summary;
  const auto subscription = session.on_any([&](const tracer::Event& event) {
    if (command_trace.saw(event)) summary.add(event);
  });
  session.start();
  command.release();
  std::optional<tracer::CommandEnd> end;
  while (!(end = command.ended())) session.poll(kTick);
  tracer::poll_until_ended(session, command_trace, std::chrono::seconds(2));
  session.stop();
  tracer::SessionFigures figures{session.totals(), session.statistics(), session.families()};
  figures.tier = session.tier();
  const tracer::Report made = tracer::make_report(summary, figures);
  report(static_cast<std::uint64_t>(end->wait_status.value_or(-1)));
  report(children_cpu_ns());
  report(made.total.cpu_ns ? made.total.cpu_ns->value : 0);
  report(made.completeness.exits_seen);
  report(made.completeness.missed_at_most.value_or(0));
  report(made.completeness.complete ? 1 : 0);
  std::printf("%s", tracer::internal::format_report("polled", made, std::nullopt, std::nullopt).c_str());
  return 0;
}

}  // namespace truth
