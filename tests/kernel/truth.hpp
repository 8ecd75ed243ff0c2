// SPDX-License-Identifier: Apache-2.0
/// Programs with a known truth: this executable itself, called as `kernel_tests truth NAME ARGUMENT…`.
#pragma once

#include <string>
#include <vector>

namespace truth {

/// Runs the program that argv names and returns its exit status; -1: argv is not such a call.
int run(int argc, char** argv);

/// The words of a call of this executable as program `name`.
std::vector<std::string> call(const std::string& name, std::vector<std::string> arguments = {});

/// In a process of its own: becomes this executable, called with these words.
[[noreturn]] void execute(const std::vector<std::string>& words);

}  // namespace truth
