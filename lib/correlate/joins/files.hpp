// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "correlate/joins/family_join.hpp"

namespace tracer::internal {

/// Collects the files of each process until it ends. Bounded by kMostFiles; beyond that, files that come new are
/// folded.
class FilesJoin final : public FamilyJoin {
 public:
  static constexpr std::size_t kMostFiles = 262144;  ///< Of all processes that live.

  Family family() const noexcept override { return Family::kFiles; }
  void add(const FileUseRecord& record) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events) override;
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  /// The sums of one file: of earlier rounds, and of the one that goes on.
  struct Use {
    std::optional<std::string> path;
    FileUseRecord before;
    FileUseRecord now;
  };
  struct Files {
    std::uint64_t start_ns = 0;
    std::map<FileUseRecord::File, Use> uses;
  };
  /// Bytes that were read and written in all.
  struct Moved {
    std::uint64_t start_ns = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
  };

  Use* use_of(const FileUseRecord& record);
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
