// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {

/// A file that a service has passed.
struct PassedFile {
  RecordingsReply::File about;
  UniqueFd fd;
};

/// Those that were written last first. Throws what past() throws.
std::vector<PassedFile> ask_past(const std::filesystem::path& socket, std::uint64_t since_unix_ns);
/// For messages: "file 3 of user 1000".
std::string name_of(const RecordingsReply::File& file);

}  // namespace tracer::internal
