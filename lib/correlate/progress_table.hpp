// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// How far each process has come in the file that it is reading, and how fast. That it is being read is seen by its
/// position, which has moved on within about a second. Bounded: by what lives, and by kMostFiles.
class ProgressTable {
 public:
  static constexpr std::size_t kMostFiles = 64;  ///< Of one process.
  static constexpr std::uint64_t kRateNs = 1'000'000'000;

  void add(FileRecord file);
  /// Forgets what was added since end_round(); what is known of the rounds before stays.
  void clear() { now_.clear(); }
  /// From what was added since end_round() for this process, and the rounds before. Absent: it is not known to read
  /// any.
  std::optional<Progress> of(std::uint32_t pid, std::uint64_t start_ns) const;
  /// What was added is known from now on; processes and files that were not are forgotten.
  void end_round();

 private:
  struct Position {
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;
  };
  struct File {
    FileRecord last;
    Position base;       ///< From which the rate is reckoned: about kRateNs ago.
    bool grows = false;  ///< Somebody writes it: its size says nothing of what is left.
    bool moved = false;  ///< Ever, while it was watched.
  };
  using Files = std::vector<File>;

  static bool same_file(const FileRecord& a, const FileRecord& b);
  const File* known(const FileRecord& file) const;
  File joined(const FileRecord& file) const;

  std::unordered_map<std::uint32_t, std::vector<FileRecord>> now_;  ///< By pid.
  std::unordered_map<std::uint32_t, Files> before_;
};

}  // namespace tracer::internal
