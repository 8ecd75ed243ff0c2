// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include <fmt/format.h>

#include "commands/capture.hpp"
#include "commands/commands.hpp"
#include "process/privileges.hpp"
#include "process/signals.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kLivingCheckPeriod = std::chrono::seconds(1);
/// When no end was seen: it may have been lost.
constexpr auto kLongestWithoutCheck = std::chrono::seconds(10);

/// Until interrupted, or until nothing lives of the one tree that is watched.
void follow(Capture& capture, Signals& signals, bool ends_with_tree) {
  auto last_check = steady_clock::now();
  std::uint64_t exits = 0;
  for (;;) {
    pollfd ready[2] = {{capture.fd(), POLLIN, 0}, signals.to_poll()};
    ::poll(ready, 2, signals.timeout(1000));
    capture.poll(milliseconds(0));
    while (const auto signal = signals.next()) {
      if (signal->number == SIGTSTP) capture.suspend(signals);
      if (asks_for_end(*signal)) return;
    }
    const auto since = steady_clock::now() - last_check;
    const bool fewer = capture.exits() != exits;
    if (!ends_with_tree || since < (fewer ? kLivingCheckPeriod : kLongestWithoutCheck)) continue;
    last_check = steady_clock::now();
    exits = capture.exits();
    if (!capture.follows_any()) return;
  }
}

}  // namespace

int watch_command(const Options& options) {
  // While nothing else is in this session: outputs may bring a helper.
  go_ahead_of_other_sessions();
  const Outputs outputs = open_outputs(options, user_to_run_as(std::nullopt));
  Signals signals;
  go_ahead_of_others();
  tracer::Filter filter;
  std::string title = "watch: this host";
  if (options.pid) {
    filter.include_tree(*options.pid, options.context);
    title = fmt::format("watch: the tree of process {}", *options.pid);
  } else if (options.cgroup) {
    filter.include_cgroup(*options.cgroup, options.context);
    title = fmt::format("watch: cgroup {}", *options.cgroup);
  }
  Capture capture(std::move(filter), options, outputs);
  capture.start();
  if (::isatty(STDERR_FILENO) != 0) say("tracerd: watching; press Ctrl-C to stop and print the table\n");
  follow(capture, signals, options.pid.has_value());
  capture.finish(title, signals);
  return 0;
}

}  // namespace tracerd
