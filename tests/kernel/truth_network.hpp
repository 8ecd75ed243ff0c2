// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// HOW: a server, and a child that is its client, exchange known numbers of bytes over the loopback interface. Prints
/// the client's pid, the port, and the pid of a third process, or 0.
int use_network(const std::vector<std::string>& arguments);
/// COUNT: sends one byte to each of so many peers.
int many_peers(const std::vector<std::string>& arguments);

}  // namespace truth
