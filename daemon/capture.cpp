// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "table.hpp"
#include "say.hpp"

namespace tracerd {
namespace {

/// An older file keeps what it holds until the session is ready: see Capture's constructor.
int open_output(const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) return fd;
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable,
                       errno,
                       fmt::format("can't create {}", file),
                       "name a file in a folder that exists and that you may write to",
                       {}});
}

tracer::SessionOptions session_options(tracer::Filter filter, const Options& given) {
  tracer::SessionOptions options;
  options.filter = std::move(filter);
  options.reader = tracer::Reader::kPoll;
  if (given.families) options.families = *given.families;
  if (given.interval) options.sample_interval = *given.interval;
  options.max_cost_share = given.max_cost_share;
  return options;
}

}  // namespace

Outputs open_outputs(const Options& options, const std::optional<User>& user) {
  const ActingAs acting(user);
  Outputs outputs;
  if (options.record) outputs.record_fd = open_output(*options.record);
  if (options.json)
    outputs.json_fd = *options.json == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : open_output(*options.json);
  struct stat record {};
  struct stat json {};
  if (outputs.record_fd && outputs.json_fd && ::fstat(*outputs.record_fd, &record) == 0 &&
      ::fstat(*outputs.json_fd, &json) == 0 && S_ISREG(record.st_mode) && record.st_dev == json.st_dev &&
      record.st_ino == json.st_ino)
    throw tracer::Error(
        {tracer::ErrorCode::kContradiction, 0, "--record and --json name the same file", "name two files", {}});
  return outputs;
}

Capture::Capture(tracer::Filter filter, const Options& options, Outputs outputs)
    : session_(session_options(std::move(filter), options)), live_(options.live) {
  const auto add = [this](std::unique_ptr<tracer::Sink> sink) {
    sinks_.push_back(&session_.add_sink(std::move(sink)));
  };
  // Of pipes and devices there is nothing to cut.
  if (outputs.record_fd && ::ftruncate(*outputs.record_fd, 0) != 0) errno = 0;
  if (outputs.json_fd && *options.json != "-" && ::ftruncate(*outputs.json_fd, 0) != 0) errno = 0;
  if (outputs.record_fd) add(tracer::recording_sink(*outputs.record_fd, *options.record, session_.host()));
  if (outputs.json_fd)
    add(tracer::json_sink(*outputs.json_fd, *options.json == "-" ? "standard output" : *options.json, session_.host()));
  subscription_ = session_.on_any([this](const tracer::Event& event) {
    // Until its first exec the command is a copy of tracerd, waiting for the programs to load: no part of what was
    // asked for.
    if (const auto* exec = std::get_if<tracer::ProcessExec>(&event))
      if (!began_ && awaited_.contains(exec->process->pid)) {
        began_ = true;
        argv_ = exec->process->argv.value_or(argv_);
        return;
      }
    summary_.add(event);
    if (const auto* sample = std::get_if<tracer::ProcessSample>(&event)) live_.saw(*sample);
    if (const auto* folded = std::get_if<tracer::ToolSample>(&event)) live_.saw(*folded);
    if (awaited_.empty()) return;
    if (const auto* exit = std::get_if<tracer::ProcessExit>(&event))
      if (awaited_.contains(exit->process->pid)) exited_.insert(exit->process->pid);
  });
}

void Capture::poll(std::chrono::milliseconds timeout) {
  session_.poll(timeout);
  live_.update();
  tell_problems();
}

void Capture::suspend(const Signals& signals) {
  live_.clear();
  signals.suspend();
}

bool Capture::follows_any() const {
  const auto totals = session_.totals();
  return std::any_of(totals.begin(), totals.end(), [](const tracer::ContextTotals& each) { return each.living != 0; });
}

void Capture::tell_problems() {
  for (tracer::Sink* sink : sinks_) {
    const auto problem = sink->problem();
    if (!problem || !told_.insert(sink).second) continue;
    say("tracerd: {}\n", tracer::Error(*problem).what());
  }
}

void Capture::finish(const std::string& title) {
  session_.stop();
  live_.clear();
  tell_problems();
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - started_;
  say("{}", format_table({title, static_cast<std::uint64_t>(elapsed.count()), awaited_.empty(), summary_,
                          session_.totals(), session_.statistics(), session_.signals()}));
}

}  // namespace tracerd
