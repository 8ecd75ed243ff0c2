// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <tracer/context.hpp>
#include <tracer/families.hpp>

#include "show/report_table.hpp"

namespace tracerd {
using tracer::internal::By;

/// What a run of the history is named by: "run:KEY".
inline constexpr std::string_view kRunPrefix = "run:";

/// What was asked for on the command line.
struct Options {
  enum class Command {
    kHelp,
    kVersion,
    kRun,
    kWatch,
    kDump,
    kExport,
    kExplain,
    kSetup,
    kCheck,
    kReport,
    kWhy,
    kLog,
    kFiles,
    kLineage,
    kRuns,
    kTask,
    kHistory,
    kCompare,
    kServe,
    kStatus
  };
  Command command = Command::kHelp;
  std::string help;  ///< The text that was asked for.
  std::optional<std::string> record;
  std::optional<std::string> json;
  std::optional<std::string> user;
  tracer::Context context;
  std::optional<std::chrono::milliseconds> interval;
  std::optional<std::vector<tracer::Family>> families;
  std::optional<double> max_cost_share;
  std::optional<std::size_t> ring_bytes;
  std::optional<std::size_t> max_processes;
  std::optional<std::size_t> max_threads;
  std::optional<std::size_t> max_cgroups;
  std::uint64_t max_size = 0;  ///< Of each file of --record and --json; 0: any.
  std::uint32_t rotate = 0;    ///< How many files before the newest are kept; 0: it stops at max_size.
  bool live = true;
  std::optional<By> by;  ///< The rows of the table; absent: by the tree of runs, if there is one.
  std::optional<pid_t> pid;
  std::optional<std::string> cgroup;
  bool host = false;
  std::optional<std::string> engine_rules;  ///< In front of the built-in ones.
  std::optional<std::string> secret_rules;  ///< In place of the built-in ones.
  bool read_engine_notes = true;
  bool hash_paths = false;
  bool explain = false;                  ///< Of dump: reasons instead of events.
  bool verbose = false;                  ///< Of explain.
  std::optional<std::string> trace;      ///< Files of the tasks that ended.
  std::optional<std::string> benchmark;  ///< A folder.
  std::optional<std::string> report;     ///< A file, written at the end: JSON or a page.
  std::optional<std::string> rules;      ///< Of check: a file of rules for engines.
  bool as_json = false;                  ///< Of check, report, why, log, files, lineage, runs, history and compare.
  bool as_prometheus = false;            ///< Of status.
  bool as_page = false;                  ///< Of report.
  bool follow = false;                   ///< Of log.
  bool as_dot = false;                   ///< Of lineage.
  std::optional<std::string> task;       ///< Of task: its name.
  bool use_history = true;
  std::optional<std::string> history;  ///< A file; absent: the user's own.
  std::optional<std::chrono::seconds> prune;
  bool delete_history = false;
  std::optional<std::uint64_t> input_bytes;
  std::optional<std::string> config;  ///< Of serve.
  std::optional<std::string> socket;  ///< Of serve and status: another than the configured one.
  bool capabilities = false;          ///< Of setup: no service, even where systemd runs.
  bool dry_run = false;               ///< Of setup.
  bool undo = false;                  ///< Of setup.
  bool check_only = false;            ///< Of serve: the configuration is checked, and nothing else happens.
  std::vector<std::string>
      files;  ///< Recordings; of compare also run:KEY; of why and log, the last may be what is asked.
  std::vector<std::string> given;  ///< Of task: all words but the first.
  std::vector<std::string> words;  ///< The command to run.
};

/// Throws tracer::Error: kInvalidArgument, kContradiction.
Options parse_command_line(int argc, char** argv);

}  // namespace tracerd
