// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tracer/run.hpp>

namespace tracerd {

/// Gives files their next names, NAME.1 to NAME.N, the newest first, and makes NAME anew. A process of its own does it,
/// with the rights that the files were opened with: this one has given them up by then.
class Rotation {
 public:
  /// Absent `user`: the rights of now. To be made while there is one thread. Throws tracer::Error: kInternal,
  /// kPermission, kFileUnwritable.
  Rotation(const std::optional<tracer::User>& user, const std::vector<std::string>& files, std::uint32_t keep);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  /// A descriptor of the new file, or -1 and errno. From any thread. `which`: its place in `files`.
  int next(std::size_t which);
  /// Files that are there no more, since there are newer ones.
  std::uint64_t removed(std::size_t which) const;

 private:
  mutable std::mutex mutex_;
  int socket_ = -1;
  pid_t helper_ = -1;
  std::vector<std::uint64_t> removed_;
};

}  // namespace tracerd
