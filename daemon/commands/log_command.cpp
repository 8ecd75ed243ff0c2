// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/recording.hpp>
#include <tracer/session.hpp>
#include <tracer/source.hpp>
#include <tracer/tier.hpp>

#include "commands/commands.hpp"
#include "files/asked_words.hpp"
#include "files/past.hpp"
#include "files/recordings.hpp"
#include "insight/recorded_events.hpp"
#include "process/privileges.hpp"
#include "report/asked_work.hpp"
#include "show/log_text.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"
#include "stream/recording_series.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using std::chrono::milliseconds;
using tracer::EventKind;
using tracer::internal::AskedWork;
using tracer::internal::printable;

constexpr std::size_t kMostNameSaid = 80;
constexpr std::size_t kWriteBytes = 64u << 10;
constexpr milliseconds kLookPeriod{200};
/// Nothing new for so long: what is held is told.
constexpr milliseconds kIdle{1000};

/// What a log tells of, in the order of EventKind.
constexpr EventKind kLogged[] = {EventKind::kLoss,           EventKind::kSessionEnd,      EventKind::kProcessStart,
                                 EventKind::kProcessExec,    EventKind::kProcessExit,     EventKind::kRunStart,
                                 EventKind::kRunFinish,      EventKind::kTaskStart,       EventKind::kTaskFinish,
                                 EventKind::kTaskSubmit,     EventKind::kFileUse,         EventKind::kOomKill,
                                 EventKind::kContainerStart, EventKind::kContainerFinish, EventKind::kFinding};

bool is_logged(EventKind kind) { return std::find(std::begin(kLogged), std::end(kLogged), kind) != std::end(kLogged); }

/// Prints events as lines or as JSON.
class LogPrinter {
 public:
  /// `before_lines`: what stands before each, where there are several hosts.
  LogPrinter(const Options& options, const tracer::HostInfo& host, AskedWork& asked, std::string before_lines = {})
      : as_json_(options.as_json),
        before_lines_(std::move(before_lines)),
        asked_(asked),
        text_(host.wall_offset_ns, tracer::internal::terminal_columns(STDOUT_FILENO)) {
    if (as_json_) out_ = to_json(host) + '\n';
  }

  /// False: that is no part of the log.
  bool add(const tracer::Event& event) {
    if (!is_logged(event.kind()) || !asked_.takes(event)) return false;
    ended_ = ended_ || event.kind() == EventKind::kSessionEnd;
    if (as_json_) {
      out_ += to_json(event) + '\n';
    } else {
      text_.add(event);
      take_lines();
    }
    if (out_.size() >= kWriteBytes) write();
    return true;
  }
  void settle() {
    text_.settle();
    take_lines();
    write();
  }
  void write() {
    write_text(STDOUT_FILENO, std::exchange(out_, {}), "standard output", [] { return true; });
  }
  bool ended() const noexcept { return ended_; }

 private:
  void take_lines() {
    const std::string lines = text_.take();
    if (before_lines_.empty()) {
      out_ += lines;
      return;
    }
    for (std::size_t at = 0, end = 0; at < lines.size(); at = end + 1) {
      end = std::min(lines.find('\n', at), lines.size() - 1);
      out_ += before_lines_;
      out_.append(lines, at, end + 1 - at);
    }
  }

  const bool as_json_;
  const std::string before_lines_;
  AskedWork& asked_;
  tracer::internal::LogText text_;
  std::string out_;
  bool ended_ = false;
};

/// Tells what is held once nothing has come for a while.
class IdleClock {
 public:
  void came() { last_ = std::chrono::steady_clock::now(); }
  bool is_idle() const { return std::chrono::steady_clock::now() - last_ >= kIdle; }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int follow_service(const Options& options, AskedWork& asked) {
  tracer::SessionOptions session_options;
  session_options.reader = tracer::ReaderMode::kPoll;
  tracer::Session session(tracer::connect(tracer::service_socket_to_try()), std::move(session_options));
  become_for_files(std::nullopt);
  LogPrinter printer(options, session.host(), asked);
  IdleClock clock;
  const tracer::Subscription subscription = session.on_any([&](const tracer::Event& event) {
    if (printer.add(event)) clock.came();
  });
  session.start();
  for (;;) {
    session.poll(kLookPeriod);
    if (clock.is_idle()) printer.settle();
    printer.write();
  }
}

tracer::RecordingReader open_run(AskedWords& words) {
  const std::string name = words.files.empty() ? *words.asked : words.files.front();
  std::optional<FoundRun> run;
  try {
    run.emplace(find_run(name));
  } catch (const tracer::Error& error) {
    const tracer::Problem& problem = error.problems().front();
    throw tracer::Error({problem.code, problem.error_number,
                         fmt::format("there is no recording '{}', and a run can't be looked for: {}",
                                     printable(name, kMostNameSaid), problem.what),
                         problem.fix, problem.detail});
  }
  if (!run->is_named && !words.files.empty())
    throw tracer::Error(
        {tracer::ErrorCode::kInvalidArgument,
         0,
         fmt::format("there is no recording '{0}', and no run of yours is called so", printable(name, kMostNameSaid)),
         "'tracerd runs' lists your runs",
         {}});
  // A word alone is a task of the latest run, unless a run is called so.
  words.files.clear();
  if (run->is_named && words.asked == name) words.asked.reset();
  return std::move(run->reader);
}

/// What is no file may be the name of a run.
bool names_run(const AskedWords& words) {
  if (words.files.empty()) return words.asked.has_value();
  const std::string& name = words.files.front();
  return words.files.size() == 1 && name != "-" && name.find('/') == std::string::npos && !name.ends_with(".tracer") &&
         !std::filesystem::exists(name);
}

void read_file(tracer::RecordingReader& reader, LogPrinter& printer, bool follow) {
  if (follow) tracer::internal::RecordingAccess::series(reader)->expect_growth();
  tracer::internal::RecordedEvents events(reader);
  IdleClock clock;
  for (;;) {
    while (const auto event = events.next()) {
      if (printer.add(*event)) clock.came();
    }
    if (!follow || printer.ended()) break;
    if (clock.is_idle()) printer.settle();
    printer.write();
    std::this_thread::sleep_for(kLookPeriod);
  }
  printer.settle();
}

/// One host's, in the order of all hosts' time; as JSON, host by host.
class HostLog {
 public:
  HostLog(tracer::RecordingReader& reader, const Options& options, AskedWork& asked, std::string before_lines)
      : offset_ns_(reader.host().wall_offset_ns),
        events_(reader),
        printer_(options, reader.host(), asked, std::move(before_lines)),
        next_(events_.next()) {}

  std::optional<std::uint64_t> unix_ns() const {
    return next_ ? std::optional(next_->time_ns() + offset_ns_) : std::nullopt;
  }
  void print_one() {
    printer_.add(*next_);
    printer_.write();
    next_ = events_.next();
    if (!next_) printer_.settle();
  }

 private:
  const std::uint64_t offset_ns_;
  tracer::internal::RecordedEvents events_;
  LogPrinter printer_;
  std::optional<tracer::Event> next_;
};

void read_hosts(std::vector<tracer::RecordingReader>& readers, const Options& options, AskedWork& asked) {
  std::size_t width = 0;
  for (const tracer::RecordingReader& reader : readers) width = std::max(width, reader.host().host_name.size());
  std::deque<HostLog> logs;
  for (tracer::RecordingReader& reader : readers) {
    logs.emplace_back(reader, options, asked, fmt::format("{:<{}}  ", printable(reader.host().host_name), width));
    while (options.as_json && logs.back().unix_ns()) logs.back().print_one();
  }
  for (;;) {
    HostLog* first = nullptr;
    for (HostLog& log : logs)
      if (log.unix_ns() && (first == nullptr || *log.unix_ns() < *first->unix_ns())) first = &log;
    if (first == nullptr) return;
    first->print_one();
  }
}

std::vector<tracer::RecordingReader> open_logged(AskedWords& words) {
  if (!names_run(words)) return open_recordings(words.files);
  std::vector<tracer::RecordingReader> one;
  one.push_back(open_run(words));
  return one;
}

int refuse_task(const AskedWork& asked) {
  say("tracerd: the recording has no task or run '{}'\n", printable(asked.asked(), kMostNameSaid));
  std::string others;
  for (const std::string& name : asked.others()) others += fmt::format("  {}\n", printable(name, kMostNameSaid));
  if (!others.empty()) say("it has:\n{}", others);
  return 1;
}

}  // namespace

int log_command(const Options& options) {
  AskedWords words = asked_words(options.files);
  if (options.follow && (words.files.empty() || names_run(words))) {
    if (words.files.size() + (words.asked ? 1 : 0) > 1)
      throw tracer::Error(
          {tracer::ErrorCode::kContradiction,
           0,
           "-f follows what the service traces from now on, or a file that is being written: not a past run",
           "name a task or run alone, or a file",
           {}});
    AskedWork asked(words.files.empty() ? words.asked.value_or("") : words.files.front());
    return follow_service(options, asked);
  }
  std::vector<tracer::RecordingReader> readers = open_logged(words);
  become_reader();
  AskedWork asked(words.asked.value_or(""));
  if (readers.size() == 1) {
    LogPrinter printer(options, readers.front().host(), asked);
    read_file(readers.front(), printer, options.follow);
  } else if (options.follow) {
    throw tracer::Error({tracer::ErrorCode::kContradiction,
                         0,
                         "-f follows one recording that is being written: not several",
                         "name one, or leave out -f",
                         {}});
  } else {
    read_hosts(readers, options, asked);
  }
  report_damage(readers);
  return asked.found() ? 0 : refuse_task(asked);
}

}  // namespace tracerd
