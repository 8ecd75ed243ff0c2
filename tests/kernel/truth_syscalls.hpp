// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// HOW: makes known numbers of system calls.
int make_calls(const std::vector<std::string>& arguments);
/// Waits for a line, makes 100 getppid and waits for another.
int call_when_told(const std::vector<std::string>& arguments);

}  // namespace truth
