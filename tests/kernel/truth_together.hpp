// SPDX-License-Identifier: Apache-2.0
/// Several processes, of which it is known when one of them at least runs.
#pragma once

#include <string>
#include <vector>

namespace truth {

/// Processes in a row, each with a pipe to the next. An argument for each: how often, a colon, and what it does each
/// time: bN computes for N ms, sN sleeps for N ms, w gives a token to the next, r takes one of the one before; "3:r b20
/// s5". Reports how long one of them at least ran, and how long all ran in sum, in ns, by their own observation.
int together(const std::vector<std::string>& arguments);

}  // namespace truth
