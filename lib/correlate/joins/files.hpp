// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "correlate/joins/family_join.hpp"

namespace tracer::internal {

/// Collects the files of each process until it ends. Bounded: what is beyond the constants is folded, and its opens are
/// counted.
class FilesJoin final : public FamilyJoin {
 public:
  static constexpr std::size_t kMostFiles = 65536;  ///< Of all processes that live.
  static constexpr std::size_t kMostFilesOfProcess = 1024;

  Family family() const noexcept override { return Family::kFiles; }
  void add(const FileUseRecord& record) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events) override;
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  struct Sums {
    std::uint64_t opens = 0;
    std::optional<std::uint64_t> read_bytes = 0;  ///< Absent, as written_bytes: not known.
    std::optional<std::uint64_t> written_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t closed_ns = 0;  ///< Without opens: the last rename or delete.
    bool created = false;
    bool reads = false;
    bool writes = false;
    std::optional<std::uint64_t> opened_ns = kNever;  ///< The first open. Absent: not known.
    std::optional<std::uint64_t> renames = 0;         ///< Absent, as deletes: not seen on this kernel.
    std::optional<std::uint64_t> deletes = 0;

    std::uint64_t uses() const noexcept;
    void add(const Sums& later);
  };
  struct Use {
    std::optional<std::string> path = {};  ///< Absent: its first record has not come.
    const char* path_at = "close";
    bool path_cut = false;
    std::optional<std::string> renamed_to = {};
    std::optional<std::string> filesystem = {};
    Sums before = {};  ///< Of earlier rounds.
    Sums now = {};     ///< Of the round that goes on.
  };
  struct Files {
    std::uint64_t start_ns = 0;
    std::map<FileUseRecord::File, Use> uses = {};
    std::vector<std::pair<FileUseRecord::File, Use>> earlier = {};  ///< Whose number was given to another file.
    Sums others = {};                                               ///< That are not told apart.

    std::size_t size() const noexcept { return uses.size() + earlier.size(); }
  };
  /// Bytes that were read and written in all.
  struct Moved {
    std::uint64_t start_ns = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
  };

  static Sums sums_of(const FileUseRecord& record);
  static Sums more_of(const FileUseRecord& record);
  static bool is_other(const Use& use, const FileUseRecord& record);
  static void name(Use& use, const FileUseRecord& record);
  Files& files_of(const FileUseRecord& record);
  static FileUse event_of(const FileUseRecord::File& file, const Use& use);
  Moved moved_by(const ExitRecord& record, const Process& process);
  static void report(const Files& files, std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                     const std::optional<Moved>& most, std::vector<Event>& events);

  std::unordered_map<std::uint32_t, Files> processes_;  ///< By pid.
  std::size_t files_ = 0;
  std::unordered_map<std::uint32_t, Moved>
      children_;  ///< By pid: what the children of a process that lives have moved.
};

}  // namespace tracer::internal
