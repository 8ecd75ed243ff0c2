// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tracer/report.hpp>
#include <tracer/run.hpp>
#include <tracer/session.hpp>
#include <tracer/summary.hpp>

#include "command_line/command_line.hpp"
#include "files/chosen_price.hpp"
#include "files/named_file.hpp"
#include "files/rotation.hpp"
#include "files/task_files.hpp"
#include "process/signals.hpp"
#include "report/detailed_report.hpp"
#include "terminal/live_line.hpp"

namespace tracerd {

/// Files that events go to, opened before anything runs.
struct Outputs {
  std::optional<int> record_fd;
  std::optional<int> json_fd;
  std::optional<int> trace_fd;  ///< Written at the end, as the report.
  std::optional<int> report_fd;
  std::shared_ptr<Rotation> keeper;               ///< Of an older recording by that name, which is not to be lost.
  std::shared_ptr<Rotation> report_keeper;        ///< Of an older report by that name, likewise.
  std::filesystem::path history = {};             ///< Empty: none.
  std::optional<tracer::User> history_user = {};  ///< Whose it is; absent: the caller's.
  ChosenPrice price = {};
  std::shared_ptr<Rotation> rotation;  ///< Of the record and the JSON, in this order; those that are there.
};
/// Throws tracer::Error(kFileUnwritable). With the rights of `user`, if there is one.
Outputs open_outputs(const Options& options, const std::optional<tracer::User>& user);

/// A session with its sinks and its summary, driven by the caller's loop.
class Capture {
 public:
  /// Takes over the outputs' descriptors, and gives up what rights are not needed from then on. `command`: the process
  /// of the command that is run, absent if none is.
  Capture(tracer::Filter filter, const Options& options, Outputs outputs, std::optional<pid_t> command = {});

  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void start() { session_.start(); }
  int fd() const noexcept { return session_.fd(); }
  /// Handles what is pending; reports on standard error when a sink has failed.
  void poll(std::chrono::milliseconds timeout);
  /// For ^Z: stops with the terminal as it was.
  void suspend(const Signals& signals);
  /// Ends the session and prints the table. `title` is what was traced. Where the terminal takes no text, it waits
  /// until a signal asks for the end.
  void finish(const std::string& title, Signals& signals);
  /// By the kernel's count, which is cheaper than to ask which ones live.
  bool follows_any() const;
  std::uint64_t exits() const noexcept { return summary().exits(); }
  /// Waits until the command's accounts are final.
  void wait_for_last_switch();
  /// The command's arguments as they were traced, secrets masked; empty if that was lost.
  std::vector<std::string> command_argv() const;

 private:
  void on_event(const tracer::Event& event);
  const tracer::Summary& summary() const noexcept { return detailed_ ? detailed_->summary() : summary_; }
  void add_sinks(const Options& options, const Outputs& outputs);
  std::string new_problems(bool at_end = false);
  std::string missing_in_outputs();
  /// Of each file that was moved or replaced, or whose predecessor was.
  std::string moved_files() const;
  static std::chrono::nanoseconds own_cpu_time() noexcept;
  /// A file that is written at the end.
  struct LateFile {
    int fd = -1;
    std::string name;
    std::optional<NamedFile> file;  ///< Absent: it is not known by its name.
  };
  static std::optional<LateFile> late_file(std::optional<int> fd, const std::optional<std::string>& name);
  /// What went wrong.
  static std::string write_late(const LateFile& file, const std::string& text);
  std::string write_trace();
  /// JSON or a page.
  std::string report_document(const std::string& title, const tracer::Report& report) const;
  std::string write_report(const std::string& document);

  std::shared_ptr<Rotation> rotation_;
  tracer::Session session_;
  tracer::Summary summary_;                                    ///< Empty, if there is detailed_.
  std::optional<tracer::internal::DetailedSummary> detailed_;  ///< A page is asked for.
  LiveLine live_;
  std::optional<tracer::CommandTrace> command_;
  struct Output {
    std::string name;
    std::optional<NamedFile> file;  ///< Absent: it is not known by its name.
    tracer::SinkHandle sink;
    std::string reported = {};
  };
  std::vector<Output> outputs_;
  std::optional<LateFile> trace_;
  std::optional<LateFile> report_;
  std::shared_ptr<Rotation> report_keeper_;
  ChosenPrice price_;
  TaskFiles tasks_;
  std::uint64_t first_ns_ = 0;  ///< Of the first event that has a time.
  bool stops_ = false;
  std::optional<std::uint64_t> service_gone_ns_ = {};  ///< When its last event was, if it ended before the session.
  tracer::Subscription subscription_;
  const std::optional<By> by_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds started_cpu_ = own_cpu_time();
};

}  // namespace tracerd
