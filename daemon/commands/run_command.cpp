// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "commands/capture.hpp"
#include "commands/commands.hpp"
#include "files/history_place.hpp"
#include "process/given_environment.hpp"
#include "process/privileges.hpp"
#include "process/signals.hpp"
#include "show/printable.hpp"
#include "terminal/messages.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::printable;
namespace {

using std::chrono::milliseconds;

constexpr int kFailedBeforeRun = 125;
/// A title names the command; the table is not about its arguments.
constexpr std::size_t kMostRunTitleWidth = 60;

/// `argv`: the command's as it was traced, secrets masked; the words that were given may hold secrets.
std::string title_of(const Options& options, const std::vector<std::string>& argv) {
  std::string title;
  for (const auto& label :
       {options.context.pipeline, options.context.run, options.context.step, options.context.sample})
    if (label) title += (title.empty() ? "" : " / ") + *label;
  std::string command;
  for (const std::string& word : argv) command += (command.empty() ? "" : " ") + word;
  if (command.empty()) command = options.words.front();
  command = printable(command, kMostRunTitleWidth);
  return title.empty() ? command : title + ": " + command;
}

/// Runs until the command has ended, or, with a second interrupt, absent: detached.
std::optional<int> follow(Capture& capture, tracer::Command& command, Signals& signals) {
  int interrupts = 0;
  for (;;) {
    if (const auto end = command.ended()) return end->wait_status.value_or(kFailedBeforeRun << 8);
    pollfd ready[2] = {{capture.fd(), POLLIN, 0}, signals.to_poll()};
    ::poll(ready, 2, signals.timeout(1000));
    while (const auto signal = signals.next()) {
      if (signal->number == SIGCHLD) continue;
      if (signal->number == SIGINT && ++interrupts >= 2) return std::nullopt;
      if (!signal->from_terminal) command.signal(signal->number);
      if (signal->number == SIGTSTP) capture.suspend(signals);
    }
    capture.poll(milliseconds(0));
  }
}

}  // namespace

int run_command(const Options& options) {
  const std::optional<tracer::User> user = user_to_run_as(options.user);
  Outputs outputs = open_outputs(options, user);
  outputs.history = history_of_run(options, user);
  outputs.history_user = user;
  Signals signals;
  tracer::Command command({.argv = options.words,
                           .user = user,
                           .prepare = [&signals] { signals.restore(); },
                           .environment = given_environment(),
                           // Under sudo the terminal is that of who called it.
                           .owns_terminal = !options.user});
  // Not before: the command keeps the priority that it was given.
  go_ahead_of_others();
  tracer::Filter filter;
  filter.include_tree(command.pid(), options.context);
  Capture capture(std::move(filter), options, outputs, command.pid());
  capture.start();
  command.release();

  const std::optional<int> status = follow(capture, command, signals);
  if (status) {
    capture.wait_for_last_switch();
  } else {
    const std::string text = fmt::format("\ntracerd: detached; the command continues as process {}\n", command.pid());
    write_messages(text, [&signals] { return !signals.end_is_asked_for(); });
  }
  capture.finish(title_of(options, capture.command_argv()), signals);
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
