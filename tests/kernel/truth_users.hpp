// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// FOLDER USER: as root and as that user by turns, reads a file below the folder and sends to an address, which are
/// numbered from 1 on.
int act_as_users(const std::vector<std::string>& arguments);
/// GREEDY PROGRAMS PEERS MODEST FEW: so many programs of one user that live send to so many peers each, then one of
/// another to a few. Reports the pid of the last.
int peers_of_users(const std::vector<std::string>& arguments);
/// FOLDER GREEDY PROGRAMS FILES MODEST FEW: likewise, of files that are made below the folder.
int files_of_users(const std::vector<std::string>& arguments);

}  // namespace truth
