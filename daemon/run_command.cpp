// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "capture.hpp"
#include "child.hpp"
#include "commands.hpp"
#include "signals.hpp"
#include "say.hpp"

namespace tracerd {
namespace {

using std::chrono::milliseconds;

constexpr int kFailedBeforeRun = 125;
constexpr milliseconds kLastSwitchWait{2000};

/// `argv`: the command's as it was traced, secrets masked; the words that were given may hold secrets.
std::string title_of(const Options& options, const std::vector<std::string>& argv) {
  std::string title;
  for (const auto& label :
       {options.context.pipeline, options.context.run, options.context.step, options.context.sample})
    if (label) title += (title.empty() ? "" : " / ") + *label;
  std::string command;
  for (const std::string& word : argv) command += (command.empty() ? "" : " ") + word;
  if (command.empty()) command = options.words.front();
  return title.empty() ? command : title + ": " + command;
}

/// Runs until the command has ended, or, with a second interrupt, absent: detached.
std::optional<int> follow(Capture& capture, Child& child, Signals& signals) {
  int interrupts = 0;
  for (;;) {
    if (const auto status = child.ended()) return status;
    pollfd ready[2] = {{capture.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    ::poll(ready, 2, 1000);
    while (const auto signal = signals.next()) {
      if (signal->number == SIGCHLD) continue;
      if (signal->number == SIGINT && ++interrupts >= 2) return std::nullopt;
      if (!signal->from_terminal) child.signal(signal->number);
      if (signal->number == SIGTSTP) capture.suspend(signals);
    }
    capture.poll(milliseconds(0));
  }
}

/// The parent hears of an end a moment before the last switch, at which the accounts are final.
void wait_for_last_switch(Capture& capture, pid_t pid) {
  const auto until = std::chrono::steady_clock::now() + kLastSwitchWait;
  while (!capture.saw_exit_of(pid) && std::chrono::steady_clock::now() < until) capture.poll(milliseconds(1));
}

}  // namespace

int run_command(const Options& options) {
  const std::optional<User> user = user_to_run_as(options.user);
  const Outputs outputs = open_outputs(options, user);
  Signals signals;
  Child child(options.words, user, signals);
  tracer::Filter filter;
  filter.include_tree(child.pid(), options.context);
  Capture capture(std::move(filter), options, outputs);
  capture.watch_exit_of(child.pid());
  capture.start();
  drop_privileges();
  child.release();

  const std::optional<int> status = follow(capture, child, signals);
  if (status) {
    wait_for_last_switch(capture, child.pid());
  } else {
    say("\ntracerd: detached; the command goes on as process {}\n", child.pid());
  }
  capture.finish(title_of(options, capture.argv_of_watched()));
  if (!status) return 128 + SIGINT;
  return WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
}

int exit_status_of(const tracer::Error& error) {
  switch (error.code()) {
    case tracer::ErrorCode::kCommandNotFound: return 127;
    case tracer::ErrorCode::kCommandNotExecutable: return 126;
    default: return kFailedBeforeRun;
  }
}

}  // namespace tracerd
