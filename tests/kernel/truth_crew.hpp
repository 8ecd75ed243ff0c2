// SPDX-License-Identifier: Apache-2.0
/// Programs of several threads, of which it is known when one of them at least runs.
#pragma once

#include <string>
#include <vector>

namespace truth {

/// {what they do, ms}. Reports, a line each, what the test that calls it wants.
int crew(const std::vector<std::string>& arguments);

}  // namespace truth
