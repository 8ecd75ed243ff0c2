// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// Ends its child by a signal: {how}. Reports its own pid and the child's.
int end_child(const std::vector<std::string>& arguments);

}  // namespace truth
