// SPDX-License-Identifier: Apache-2.0
/// One function a command; each returns tracerd's exit status and throws tracer::Error.
#pragma once

#include <tracer/error.hpp>

#include "command_line.hpp"

namespace tracerd {

int run_command(const Options& options);
int watch_command(const Options& options);
int dump_command(const Options& options);
int check_command();

/// Of a `run` that failed before the command ran.
int exit_status_of(const tracer::Error& error);

}  // namespace tracerd
