// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <tracer/event.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// How far each process has come in the largest file that it reads, and how fast. Bounded: see kMostProcesses.
class ProgressTable {
 public:
  static constexpr std::size_t kMostProcesses = 65536;

  void add(FileRecord file);
  /// Begins another round, with the same base of rates; what was added so far can be put back afterwards.
  ProgressTable set_aside() {
    ProgressTable aside;
    aside.now_ = std::exchange(now_, {});
    return aside;
  }
  void put_back(ProgressTable aside) { now_ = std::move(aside.now_); }
  /// Of what was added since end_round() for this process; the rate since the round before.
  Progress of(std::uint32_t pid, std::uint64_t start_ns) const;
  /// What was added becomes the base of the next rates; processes without files in it are forgotten.
  void end_round();

 private:
  static bool same_file(const FileRecord& a, const FileRecord& b);

  std::unordered_map<std::uint32_t, FileRecord> now_;
  std::unordered_map<std::uint32_t, FileRecord> before_;
};

}  // namespace tracer::internal
