// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/version.hpp>

#include "commands/commands.hpp"
#include "process/copy_with_rights.hpp"
#include "show/printable.hpp"
#include "terminal/messages.hpp"
#include "terminal/say.hpp"

namespace {

constexpr int kUsageError = 2;

int run(const tracerd::Options& options) {
  using Command = tracerd::Options::Command;
  switch (options.command) {
    case Command::kHelp: fmt::print("{}", options.help); return 0;
    case Command::kVersion: fmt::print("tracerd {}\n", TRACER_VERSION); return 0;
    case Command::kRun: return tracerd::run_command(options);
    case Command::kWatch: return tracerd::watch_command(options);
    case Command::kServe: return tracerd::serve_command(options);
    case Command::kStatus: return tracerd::status_command(options);
    case Command::kDump: return tracerd::dump_command(options);
    case Command::kExport: return tracerd::export_command(options);
    case Command::kExplain: return tracerd::explain_command(options);
    case Command::kSetup: return tracerd::setup_command(options);
    case Command::kCheck: return tracerd::check_command(options);
    case Command::kReport: return tracerd::report_command(options);
    case Command::kWhy: return tracerd::why_command(options);
    case Command::kLog: return tracerd::log_command(options);
    case Command::kFiles:
    case Command::kLineage: return tracerd::lineage_command(options);
    case Command::kRuns: return tracerd::runs_command(options);
    case Command::kHistory: return tracerd::history_command(options);
    case Command::kCompare: return tracerd::compare_command(options);
    case Command::kTask: return tracerd::task_command(options);
  }
  return kUsageError;
}

/// A file must not become standard error because the caller closed it. The command finds them closed as before.
void open_standard_descriptors() {
  for (int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0; fd = ::open("/dev/null", O_RDWR | O_CLOEXEC)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

int run_and_report(int argc, char** argv) {
  int failed = kUsageError;
  try {
    const tracerd::Options options = tracerd::parse_command_line(argc, argv);
    failed = 1;
    if (options.command == tracerd::Options::Command::kRun || options.command == tracerd::Options::Command::kWatch)
      tracerd::become_copy_with_rights(argv);
    try {
      return run(options);
    } catch (const tracer::Error& error) {
      if (options.command == tracerd::Options::Command::kRun || options.command == tracerd::Options::Command::kTask)
        failed = tracerd::exit_status_of(error);
      throw;
    }
  } catch (const tracer::Error& error) {
    tracerd::say("tracerd: {}\n", tracer::internal::printable_lines(error.what()));
  } catch (const std::exception& error) {
    tracerd::say("tracerd: {}\n", tracer::internal::printable_lines(error.what()));
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  tracerd::open_messages();
  const int status = run_and_report(argc, argv);
  tracerd::write_messages({}, [] { return true; });
  return status;
}
