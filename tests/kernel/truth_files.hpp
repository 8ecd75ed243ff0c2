// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// FOLDER: uses files below it, in each way in which a path can be given.
int use_files(const std::vector<std::string>& arguments);
/// FOLDER COUNT OPENS: makes so many files, and opens the first so often.
int many_files(const std::vector<std::string>& arguments);
/// FOLDER: a child makes files below it, and this process writes them anew, in part, or not at all.
int rewrite_files(const std::vector<std::string>& arguments);
/// PATH: makes and writes a file, and reads it later. Reports the boot clock before and after the first open, and
/// before and after the last close.
int open_twice(const std::vector<std::string>& arguments);
/// FOLDER: a child, and the threads of this process, use files together.
int share_files(const std::vector<std::string>& arguments);

/// FOLDER: renames and deletes files below it, in each way in which they can be named, and tries what fails. Reports
/// the pid of a child that does so, too.
int move_files(const std::vector<std::string>& arguments);
/// FOLDER COUNT: makes so many files, and deletes them.
int delete_many(const std::vector<std::string>& arguments);

}  // namespace truth
