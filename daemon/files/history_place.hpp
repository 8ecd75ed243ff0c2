// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <tracer/run.hpp>

#include "command_line/command_line.hpp"

namespace tracerd {

/// Where the history of `user` is, absent: of the caller: $XDG_STATE_HOME/tracer/history.db, or
/// ~/.local/state/tracer/history.db. Empty: there is no home.
std::filesystem::path place_of_history(const std::optional<tracer::User>& user);

/// The one to read: --history, or the user's own. Throws tracer::Error(kFileUnreadable): there is no home.
std::filesystem::path history_to_read(const Options& options, const std::optional<tracer::User>& user);

/// The one that a run uses: --history, or the user's own, whose folder is made. Empty: none. Says once that a new one
/// is begun, or that its folder can't be made.
std::filesystem::path history_of_run(const Options& options, const std::optional<tracer::User>& user);

}  // namespace tracerd
