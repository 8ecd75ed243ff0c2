// SPDX-License-Identifier: Apache-2.0
#include "commands/capture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/report.hpp>

#include "base/quantities.hpp"
#include "commands/commands.hpp"
#include "history/owner.hpp"
#include "process/own_memory.hpp"
#include "process/privileges.hpp"
#include "report/json/document.hpp"
#include "report/report_sums.hpp"
#include "show/findings_text.hpp"
#include "show/page.hpp"
#include "show/printable.hpp"
#include "show/report_text.hpp"
#include "show/screen.hpp"
#include "terminal/color.hpp"
#include "terminal/messages.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::document_of;
using tracer::internal::format_report;
using tracer::internal::page_of;
using tracer::internal::printable;
using tracer::internal::printable_lines;
using tracer::internal::terminal_columns;
namespace {

constexpr std::size_t kLeastRingBytes = 8u << 20;
constexpr std::chrono::milliseconds kLastSwitchWait{2000};
/// As long as sinks have.
constexpr std::chrono::milliseconds kLongestLateWait{2000};

tracer::SessionOptions session_options(tracer::Filter filter, const Options& given, const Outputs& outputs,
                                       std::optional<pid_t> command) {
  tracer::SessionOptions options;
  options.filter = std::move(filter);
  options.reader = tracer::ReaderMode::kPoll;
  if (given.families) options.families = *given.families;
  if (given.interval) options.sample_interval = *given.interval;
  options.max_cost_share = given.max_cost_share;
  // More than a library's session has: anybody may fill it, with long arguments.
  options.ring_bytes = given.ring_bytes.value_or(std::max(kLeastRingBytes, options.ring_bytes));
  if (given.max_processes) options.max_processes = *given.max_processes;
  if (given.max_threads) options.max_threads = *given.max_threads;
  if (given.max_cgroups) options.max_cgroups = *given.max_cgroups;
  options.engine_rules = given.engine_rules.value_or("");
  options.secret_rules = given.secret_rules.value_or("");
  options.read_engine_notes = given.read_engine_notes;
  options.hash_paths = given.hash_paths;
  options.command_pid = command.value_or(0);
  options.history = outputs.history;
  options.tiers = tracer::tiers_to_try();
  options.service_socket = tracer::service_socket_to_try();
  return options;
}

tracer::Session make_session(tracer::Filter filter, const Options& options, const Outputs& outputs,
                             std::optional<pid_t> command) {
  const tracer::internal::HistoriesOf user(outputs.history_user);
  return tracer::Session(session_options(std::move(filter), options, outputs, command));
}

}  // namespace

namespace {

/// A recording by this very name: what a link or /dev/stdout leads to is whoever's that made it.
bool is_kept(const std::string& name, int fd) {
  struct stat opened {};
  return named_file(name, fd) && ::fstat(fd, &opened) == 0 && opened.st_size != 0;
}

/// By the files themselves: one has many names.
void refuse_same_files(const std::vector<std::pair<const char*, std::optional<int>>>& outputs) {
  std::map<std::pair<dev_t, ino_t>, const char*> seen;
  for (const auto& [option, fd] : outputs) {
    struct stat file {};
    if (!fd || ::fstat(*fd, &file) != 0 || !S_ISREG(file.st_mode)) continue;
    const auto [other, fresh] = seen.try_emplace({file.st_dev, file.st_ino}, option);
    if (!fresh)
      throw tracer::Error({tracer::ErrorCode::kContradiction,
                           0,
                           fmt::format("{} and {} name the same file", other->second, option),
                           "name two files",
                           {}});
  }
}

}  // namespace

Outputs open_outputs(const Options& options, const std::optional<tracer::User>& user) {
  Outputs outputs;
  outputs.price = chosen_price(user);
  // An older file keeps what it holds until the session is ready: see Capture's constructor.
  if (options.record) outputs.record_fd = tracer::open_as(user, *options.record);
  if (options.json)
    outputs.json_fd =
        *options.json == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : tracer::open_as(user, *options.json);
  if (options.trace) outputs.trace_fd = tracer::open_as(user, *options.trace);
  if (options.report) outputs.report_fd = tracer::open_as(user, *options.report);
  if (outputs.report_fd && is_kept(*options.report, *outputs.report_fd))
    outputs.report_keeper = std::make_shared<Rotation>(user, std::vector{*options.report}, Rotation::kKeepAll);
  refuse_same_files({{"--record", outputs.record_fd},
                     {"--json", outputs.json_fd},
                     {"--trace", outputs.trace_fd},
                     {"--report", outputs.report_fd}});
  const bool is_there = outputs.record_fd && is_kept(*options.record, *outputs.record_fd);
  if (options.rotate == 0) {
    if (is_there) outputs.keeper = std::make_shared<Rotation>(user, std::vector{*options.record}, Rotation::kKeepAll);
    return outputs;
  }
  std::vector<std::string> files;
  for (const auto& [name, fd] : {std::pair(options.record, outputs.record_fd), {options.json, outputs.json_fd}}) {
    if (!fd) continue;
    struct stat file {};
    if (::fstat(*fd, &file) != 0 || !S_ISREG(file.st_mode))
      throw tracer::Error({tracer::ErrorCode::kContradiction,
                           0,
                           fmt::format("--rotate: {} is not a regular file, and can't be renamed", *name),
                           "leave --rotate out, or name another file",
                           {}});
    files.push_back(*name);
  }
  outputs.rotation = std::make_shared<Rotation>(user, files, options.rotate);
  // The recording is the first of them.
  if (is_there) outputs.keeper = outputs.rotation;
  return outputs;
}

Capture::Capture(tracer::Filter filter, const Options& options, Outputs outputs, std::optional<pid_t> command)
    : rotation_(outputs.rotation),
      session_(make_session(std::move(filter), options, outputs, command)),
      live_(options.live),
      by_(options.by) {
  if (live_.on_terminal() && !outputs.history.empty()) {
    const tracer::internal::HistoriesOf user(outputs.history_user);
    live_.use(std::make_unique<tracer::internal::SessionHistory>(outputs.history,
                                                                 tracer::internal::HistoryFile::Access::kRead));
  }
  // Before there are other threads, as each has its own. The remaining capabilities suffice to attach what is loaded.
  drop_privileges();
  keep_memory_small();
  if (command) command_.emplace(*command);
  trace_ = late_file(outputs.trace_fd, options.trace);
  report_ = late_file(outputs.report_fd, options.report);
  report_keeper_ = outputs.report_keeper;
  price_ = outputs.price;
  if (report_ && report_->name.ends_with(".html"))
    detailed_.emplace(command ? std::optional(static_cast<std::uint32_t>(*command)) : std::nullopt);
  if (session_.tier() == tracer::Tier::kService)
    say("tracerd: traced by the service at {}{}\n", printable(tracer::service_socket_to_try().string()),
        session_.tier_problems().empty()
            ? std::string()
            : fmt::format(", as this user can't do it alone: {}", printable(session_.tier_problems().front().what)));
  if (session_.tier() == tracer::Tier::kProc)
    say("tracerd: polls /proc, so that sums are lower bounds{}\n",
        session_.tier_problems().empty()
            ? std::string()
            : fmt::format(": {}; and {} ('tracerd check' explains)", printable(session_.tier_problems().front().what),
                          printable(session_.tier_problems().back().what)));
  for (const tracer::Problem& problem : session_.rule_problems())
    say("tracerd: a rule is left out: {}\n", printable_lines(problem.what));
  add_sinks(options, outputs);
  subscription_ = session_.on_any([this](const tracer::Event& event) { on_event(event); });
}

void Capture::add_sinks(const Options& options, const Outputs& outputs) {
  const auto add = [this](const std::string& name, int fd, std::unique_ptr<tracer::Sink> sink) {
    outputs_.push_back({name, named_file(name, fd), session_.add_sink(std::move(sink))});
  };
  // A sink that is left behind may outlive this.
  const auto limit = [&]() -> tracer::OutputLimit {
    if (!rotation_) return {.max_bytes = options.max_size};
    return {.max_bytes = options.max_size,
            .next_file = [rotation = rotation_, which = outputs_.size()] { return rotation->next(which); }};
  };
  // Pipes and devices can't be cut, and need not be.
  int record_fd = outputs.record_fd.value_or(-1);
  if (outputs.keeper) {
    record_fd = outputs.keeper->next(0);
    if (record_fd < 0)
      throw tracer::Error({tracer::ErrorCode::kFileUnwritable,
                           errno,
                           fmt::format("the older recording can't be kept as {}.1", *options.record),
                           "name another file, or move the older one away",
                           {}});
    ::close(*outputs.record_fd);
    say("tracerd: the older {0} is kept as {0}.1\n", printable(*options.record));
  } else if (outputs.record_fd && ::ftruncate(record_fd, 0) != 0) {
    errno = 0;
  }
  if (outputs.json_fd && *options.json != "-" && ::ftruncate(*outputs.json_fd, 0) != 0) errno = 0;
  if (outputs.record_fd)
    add(*options.record, record_fd, tracer::recording_sink(record_fd, *options.record, session_.host(), limit()));
  if (outputs.json_fd) {
    const std::string name = *options.json == "-" ? "standard output" : *options.json;
    add(name, *outputs.json_fd, tracer::json_sink(*outputs.json_fd, name, session_.host(), limit()));
  }
}

void Capture::on_event(const tracer::Event& event) {
  if (first_ns_ == 0) first_ns_ = event.time_ns();
  // What was missed before is no end.
  if (const auto* loss = event.get_if<tracer::Loss>(); loss != nullptr && stops_ && loss->cause == "service_gap")
    service_gone_ns_ = loss->first_ns;
  if (command_ && !command_->saw(event)) return;
  if (detailed_) {
    detailed_->add(event);
  } else {
    summary_.add(event);
  }
  if (trace_) tasks_.add(event);
  live_.add(event);
}

std::chrono::nanoseconds Capture::own_cpu_time() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void Capture::wait_for_last_switch() {
  if (command_) tracer::poll_until_ended(session_, *command_, kLastSwitchWait);
}

std::vector<std::string> Capture::command_argv() const {
  return command_ ? command_->argv() : std::vector<std::string>{};
}

void Capture::poll(std::chrono::milliseconds timeout) {
  session_.poll(timeout);
  live_.update();
  // What a stopped terminal would not take now is reported later.
  if (messages_flow()) say("{}", new_problems());
}

void Capture::suspend(const Signals& signals) {
  live_.clear();
  signals.suspend();
}

bool Capture::follows_any() const {
  const auto totals = session_.totals();
  return std::any_of(totals.begin(), totals.end(), [](const tracer::ContextTotals& each) { return each.living != 0; });
}

/// At the end a problem that has grown meanwhile is new.
std::string Capture::new_problems(bool at_end) {
  std::string text;
  for (Output& output : outputs_) {
    const auto problem = output.sink.problem();
    if (!problem || (!at_end && !output.reported.empty())) continue;
    const std::string what = tracer::Error(*problem).what();
    if (what == output.reported) continue;
    output.reported = what;
    text += fmt::format("tracerd: {}: {}\n", printable(output.name), printable_lines(what));
  }
  return text;
}

std::string Capture::missing_in_outputs() {
  std::string text;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::string name = printable(outputs_[i].name);
    if (const std::uint64_t dropped = outputs_[i].sink.dropped(); dropped != 0)
      text += fmt::format("tracerd: {}: {} missing, because it could not be written fast enough\n", name,
                          tracer::internal::format_count(dropped, "event is", "events are"));
    if (const std::uint64_t removed = rotation_ ? rotation_->removed(i) : 0; removed != 0)
      text += fmt::format("tracerd: {}: the oldest {} removed because of --rotate\n", name,
                          tracer::internal::format_count(removed, "file was", "files were"));
  }
  return text;
}

std::string Capture::moved_files() const {
  std::string text;
  const auto add = [&text](const std::string& name) {
    const tracer::Error moved({tracer::ErrorCode::kFileUnwritable,
                               0,
                               "it was moved or replaced by another program while it was written",
                               "look for it by another name; write to a folder that others don't change",
                               {}});
    text += fmt::format("tracerd: {}: {}\n", printable(name), printable_lines(moved.what()));
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    const bool moved = rotation_ ? rotation_->moved(i, output.file) : output.file && has_left_its_name(*output.file);
    // What has no name at all was reported as that.
    const bool was_removed = output.reported.find(" was removed by ") != std::string::npos;
    if (moved && !was_removed) add(output.name);
  }
  for (const auto& late : {trace_, report_})
    if (late && late->file && has_left_its_name(*late->file)) add(late->name);
  return text;
}

std::optional<Capture::LateFile> Capture::late_file(std::optional<int> fd, const std::optional<std::string>& name) {
  return fd ? std::optional(LateFile{*fd, *name, named_file(*name, *fd)}) : std::nullopt;
}

std::string Capture::write_late(const LateFile& file, const std::string& text) {
  std::string problem;
  try {
    if (::ftruncate(file.fd, 0) != 0) errno = 0;
    const auto until = std::chrono::steady_clock::now() + kLongestLateWait;
    const auto go_on = [until] { return std::chrono::steady_clock::now() < until; };
    write_text(file.fd, text, file.name, go_on);
  } catch (const tracer::Error& error) {
    problem = fmt::format("tracerd: {}\n", printable_lines(error.what()));
    // Better none than a part.
    if (::ftruncate(file.fd, 0) != 0) errno = 0;
  }
  if (::close(file.fd) != 0 && problem.empty())
    problem = fmt::format("tracerd: {}: {}\n", printable(file.name), std::strerror(errno));
  return problem;
}

std::string Capture::write_trace() {
  if (!trace_) return {};
  const std::string problem = write_late(*trace_, tasks_.trace(session_.host().wall_offset_ns));
  if (!problem.empty() || tasks_.left_out() == 0) return problem;
  return fmt::format("tracerd: {}: {} no line, because there are too many\n", printable(trace_->name),
                     tracer::internal::format_count(tasks_.left_out(), "more task has", "more tasks have"));
}

std::string Capture::report_document(const std::string& title, const tracer::Report& report) const {
  if (!detailed_) return to_json(report) + '\n';
  // A page is UTF-8, wherever it is made.
  const tracer::internal::Utf8Scope utf8(true);
  tracer::internal::DetailedReport detailed = detailed_->detailed(report);
  detailed.hosts = {session_.host()};
  return page_of(document_of(detailed, title, true), title, format_report(title, report, by_, std::nullopt));
}

std::string Capture::write_report(const std::string& document) {
  std::string notes;
  if (report_keeper_) {
    const int fd = report_keeper_->next(0);
    if (fd < 0) {
      const tracer::Error error(
          {tracer::ErrorCode::kFileUnwritable,
           errno,
           fmt::format("the older report can't be kept as {}.1: it stays, and the new one is lost", report_->name),
           "name another file, or move the older one away",
           {}});
      return fmt::format("tracerd: {}\n", printable_lines(error.what()));
    }
    ::close(report_->fd);
    report_->fd = fd;
    notes = fmt::format("tracerd: the older {0} is kept as {0}.1\n", printable(report_->name));
  }
  return notes + write_late(*report_, document);
}

void Capture::finish(const std::string& title, Signals& signals) {
  stops_ = true;
  session_.stop();
  live_.clear();
  std::string text = new_problems(true) + moved_files() + missing_in_outputs() + write_trace();
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - started_;
  tracer::SessionFigures figures{session_.totals(),     session_.statistics(),
                                 session_.families(),   static_cast<std::uint64_t>(elapsed.count()),
                                 !command_.has_value(), session_.tier()};
  figures.start_cpu_ns = static_cast<std::uint64_t>(started_cpu_.count());
  tracer::Report report = tracer::make_report(summary(), figures);
  text += set_price(report, price_);
  // What tracerd does besides the session is a cost of tracing, too: the live line, signals that others send it.
  report.cost.cpu_ns = static_cast<std::uint64_t>(own_cpu_time().count());
  tracer::internal::set_cpu_share(report.cost, figures.elapsed_ns);
  if (report_) text += write_report(report_document(title, report));
  if (service_gone_ns_)
    text += fmt::format("tracerd: the service ended: what ran after its last event ({}) was not seen\n",
                        tracer::internal::moment_of(*service_gone_ns_, first_ns_));
  text += colored(STDERR_FILENO, format_report(title, report, by_, terminal_columns(STDERR_FILENO)));
  write_messages(text, [&signals] { return !signals.end_is_asked_for(); });
}

}  // namespace tracerd
