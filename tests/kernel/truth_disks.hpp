// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// PATH WRITE READ: so many MiB each way, past the page cache, within the first 8 MiB of a file or disk.
int use_disk(const std::vector<std::string>& arguments);
/// PATH COUNT: so many reads of 4 KiB past the page cache, one after the other. Reports how many ns they took together.
int read_pages(const std::vector<std::string>& arguments);
/// PATH COUNT: drops what is cached of a file or disk, and reads so many pieces of 256 KiB through the cache; after
/// each it waits a moment for something else.
int read_cached(const std::vector<std::string>& arguments);
/// HEAVY LIGHT: two children at the same time; one writes 64 MiB as above, the other 1 MiB. Reports their pids.
int share_disks(const std::vector<std::string>& arguments);

}  // namespace truth
