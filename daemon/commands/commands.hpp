// SPDX-License-Identifier: Apache-2.0
/// One function a command; each returns tracerd's exit status and throws tracer::Error.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <tracer/error.hpp>

#include "command_line/command_line.hpp"

namespace tracerd {

int run_command(const Options& options);
int watch_command(const Options& options);
int serve_command(const Options& options);
int status_command(const Options& options);
int dump_command(const Options& options);
int explain_command(const Options& options);
int export_command(const Options& options);
/// Throws tracer::Error(kFileUnwritable), also if it takes no text and `go_on` says no.
void write_text(int fd, std::string_view text, const std::string& name, const std::function<bool()>& go_on);
int check_command(const Options& options);
int setup_command(const Options& options);
int report_command(const Options& options);
int why_command(const Options& options);
int log_command(const Options& options);
/// Of `files` and of `lineage`.
int lineage_command(const Options& options);
int runs_command(const Options& options);
int history_command(const Options& options);
int compare_command(const Options& options);
/// Becomes the command: does not return, but throws.
int task_command(const Options& options);

/// Of a `run` that failed before the command ran.
int exit_status_of(const tracer::Error& error);

}  // namespace tracerd
