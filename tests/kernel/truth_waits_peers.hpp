// SPDX-License-Identifier: Apache-2.0
/// Truth programs that a neighbor's read or write wakes, from a poll or from a socket.
#pragma once

#include <string>

namespace truth {

/// 96: no program is called so.
int wait_for_peer(const std::string& name, long ms);

}  // namespace truth
