// SPDX-License-Identifier: Apache-2.0
/// Truth programs that wait for a lock that another process has, or nobody gives up.
#pragma once

#include <string>

namespace truth {

/// Reports for how long it waited, and the process that ended it; 0: none did. 96: no program is called so.
int wait_for_lock(const std::string& name, long ms);

}  // namespace truth
