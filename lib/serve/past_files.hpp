// SPDX-License-Identifier: Apache-2.0
/// What a service has recorded of each owner: FOLDER/UID/host.tracer, and older files host.tracer.1 …
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {

inline constexpr const char* kNameOfPast = "host.tracer";
/// Of a file that so many newer ones have replaced: "host.tracer.2" of `newest`; 0: that one itself.
std::string name_of_past(const std::string& newest, std::uint32_t place);

struct PastFile {
  uid_t owner = 0;
  std::uint32_t place = 0;  ///< The N of host.tracer.N; 0: of host.tracer.
  std::uint64_t bytes = 0;
  std::uint64_t disk_bytes = 0;  ///< That it takes there.
  std::int64_t written_ns = 0;   ///< When last, by Unix time.
  UniqueFd fd = {};              ///< To read it.
};

/// Those whose folders are there, in order.
std::vector<uid_t> past_owners(const std::filesystem::path& folder);
/// Of one owner, the newest first, each once, also if they are renamed meanwhile. A link is none. `open`: for reading.
std::vector<PastFile> past_files(const std::filesystem::path& folder, uid_t owner, bool open);

/// The next files of these owners that were written at `since_ns` or later, those that were written first before
/// others, at most so many; absent: of all owners. Their descriptors are in `fds`, in the same order.
struct PastBatch {
  static constexpr std::size_t kMost = 32;

  RecordingsReply reply;
  std::vector<UniqueFd> fds;
};
PastBatch past_batch(const std::filesystem::path& folder, const std::optional<std::vector<uid_t>>& owners,
                     std::uint64_t since_ns);

}  // namespace tracer::internal
