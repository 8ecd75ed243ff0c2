// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// HOW: a server, and a child that is its client, exchange known numbers of bytes over the loopback interface. Prints
/// the client's pid, the port, and the pid of a third process, or 0.
int use_network(const std::vector<std::string>& arguments);
/// HOW: asks one peer, which answers 50 ms later, and another, which answers 10 ms later, 100 times each ("send": sends
/// much to one that reads slowly). Reports the ports of both, and how many ns it was in calls for an answer of each.
int wait_for_peers(const std::vector<std::string>& arguments);
/// COUNT: sends one byte to each of so many peers.
int many_peers(const std::vector<std::string>& arguments);

}  // namespace truth
