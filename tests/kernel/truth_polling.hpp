// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// Runs some tasks at once, each of which burns CPU in a child of a shell, and some more: {at once, rounds, burn_us}.
int run_tasks(const std::vector<std::string>& arguments);
/// As an ordinary user without rights, watches a truth program through a session that polls: {uid, program,
/// arguments…}. Reports, one line each: its status as wait4 gave it; CPU time by wait4, in all; what the report has of
/// it; ends of processes; the bound of what was missed; whether the report says that it is complete. Then the report.
int watch_by_polling(const std::vector<std::string>& arguments);

}  // namespace truth
