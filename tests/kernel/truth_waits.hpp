// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// Waits in the way that its first argument names, for as many ms as the second says. Reports, a line each, for how
/// many ns it waited as it measured itself, and the process that made it wait.
int wait_for(const std::vector<std::string>& arguments);

}  // namespace truth
