// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/host.hpp>

#include "base/unique_fd.hpp"

namespace tracerd {

/// Files of recordings to which nothing is added any more, as they wait for somebody who ships them:
/// FOLDER/HOST/BOOT/UID/SESSION-NUMBER.tracer. Whoever has the folder's group may take files away at any time; what
/// they put there instead is not followed.
class Outbox {
 public:
  struct Options {
    std::filesystem::path folder = {};  ///< Empty: there is none.
    std::uint64_t most_bytes = 0;
    std::optional<gid_t> group = {};  ///< Who may take files; absent: as the folder has it.
  };
  struct Counts {
    std::uint64_t failures = 0;
    std::uint64_t removed = 0;  ///< As it was full.
    int error_number = 0;       ///< Of the latest attempt; 0: it went well.
  };

  explicit Outbox(Options options) : options_(std::move(options)) {}
  bool exists() const noexcept { return !options_.folder.empty(); }
  /// After a start: of an earlier process, what it had not finished here, and what is left in `folder` and in those of
  /// owners in it, to which nobody writes.
  void take_up(const std::string& folder, const std::string& name);
  /// The older ones of NAME, that is NAME.1 …, that are not sealed by now, the oldest first; `newest`: NAME, too. A
  /// failure is counted; the next call tries again.
  void seal(int folder, const std::string& name, bool newest);
  /// Before such a file is removed: one that is not sealed is a gap from now on.
  void forget(int folder, const std::string& file);
  const Counts& counts() const noexcept { return counts_; }

  /// What is there.
  struct State {
    std::uint64_t parts = 0;
    std::uint64_t bytes = 0;
    std::uint64_t gaps = 0;
    std::optional<std::int64_t> oldest_ns = {};  ///< When it was written last, by Unix time.
  };
  static State state_of(const std::filesystem::path& folder);
  /// Whether a file of `folder` can't have a name in `outbox`, too: they are on two file systems.
  static bool is_elsewhere(const std::filesystem::path& folder, const std::filesystem::path& outbox);

 private:
  /// Where it has its place, and what a gap says of it.
  struct Part {
    std::array<std::string, 3> folders = {};  ///< HOST, BOOT, UID
    std::string session = {};
    std::uint64_t number = 0;
    std::optional<std::uint32_t> owner_uid = {};
    tracer::HostInfo host = {};
    std::uint64_t begin_ns = 0;  ///< By Unix time, as the next.
    std::uint64_t end_ns = 0;

    std::string name(std::uint64_t of, const char* kind) const;
  };
  struct Lost {
    Part part;
    const char* cause;
  };
  static std::optional<Part> part_of(int folder, const std::string& file);
  int open_folder_of(const Part& part, tracer::internal::UniqueFd& folder) const;
  int seal_one(int folder, const std::string& file);
  void keep_bound();
  bool note_gap(int folder, const Part& part, const char* cause);
  void note_lost();
  void count(int error_number);

  const Options options_;
  Counts counts_;
  std::vector<Lost> lost_;                      ///< That no gap says yet.
  std::optional<std::uint64_t> at_most_bytes_;  ///< It holds no more. Absent: not known.
};

}  // namespace tracerd
