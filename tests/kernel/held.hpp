// SPDX-License-Identifier: Apache-2.0
/// Truth programs that have done something, and go on only when they may.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

struct Held {
  pid_t pid = -1;
  int in = -1;
  int out = -1;
};

/// Runs this executable with `words`; returns when that has written its first line, and waits for a byte on stdin.
Held hold(const std::vector<std::string>& words);
/// Lets it go on to its end. `output`: gets what else it writes.
rusage release(const Held& held, std::string* output = nullptr);
