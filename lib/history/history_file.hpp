// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <tracer/history.hpp>

#include "base/sip_hash.hpp"
#include "history/question.hpp"
#include "history/rows.hpp"
#include "history/sqlite.hpp"

namespace tracer::internal {

/// The database of a history. Several processes may have it open, and write to it. One thread at a time.
class HistoryFile {
 public:
  static constexpr std::uint64_t kMostAge_s = 400ull * 24 * 3600;
  static constexpr std::uint64_t kMostTasks = 200'000;
  static constexpr std::uint64_t kMostTasksOfKind = 1000;
  static constexpr std::uint64_t kMostOfOwner = 20'000;  ///< Tasks, and runs, where they have owners.

  enum class Access {
    kWrite,  ///< Made if it is not there. Where it can't be written, but read: is_read_only().
    kRead,
  };
  /// What is older than kMostAge_s, or beyond kMostTasks, is removed, also once a day in add(), and there what is
  /// beyond kMostTasksOfKind and kMostOfOwner. One of layout 2 is changed into one of today's where it can be written.
  /// Throws Error: kFileUnreadable (missing, damaged, of an older layout, or something else), kFileUnwritable,
  /// kNewerSchema.
  HistoryFile(const std::filesystem::path& path, Access access);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  bool is_read_only() const noexcept { return read_only_; }
  /// It was not there before.
  bool is_new() const noexcept { return new_; }

  /// By which scripts are hashed in it. It never changes; where there are none, it is another one each time. Throws
  /// Error(kFileUnreadable).
  SipKey script_key();
  /// The newest first, at most kMostTasks. Throws Error(kFileUnreadable).
  std::vector<PastTask> tasks();
  /// Those of one kind that succeeded, the newest first, at most `most`. Throws Error(kFileUnreadable).
  std::vector<PastTask> succeeded(const TaskKind& kind, std::uint64_t most);
  std::vector<HistoryRun> runs();
  /// Throws Error: kFileUnreadable; kServiceRefused where there are more kinds than an answer holds.
  HistoryAnswer answer(const HistoryQuestion& question);
  /// In one transaction. False: another process writes for longer than `patience`. Throws Error(kFileUnwritable).
  bool add(const std::vector<PastTask>& tasks, const std::vector<HistoryRun>& runs, std::chrono::milliseconds patience);
  /// What ended before that Unix time, and the oldest tasks beyond `most`; the number of tasks. Throws
  /// Error(kFileUnwritable).
  std::uint64_t prune(std::uint64_t before_s, std::uint64_t most);

 private:
  void open(Access access);
  bool make();
  void check_schema();
  void set_up_writing();
  void remove_old_now();
  std::uint64_t remove_old(std::uint64_t before_s, std::uint64_t most);
  std::uint64_t kind_id(const TaskKind& kind);
  const char* script() const noexcept { return has_scripts_ ? "kind.script" : "NULL"; }
  void remove_beyond(std::uint64_t kind_id);
  void remove_beyond_of_owner(std::uint32_t owner);

  std::filesystem::path path_;
  std::unique_ptr<Database> database_;
  bool read_only_ = false;
  bool new_ = false;
  bool has_scripts_ = true;  ///< False: it has layout 2, and can't be written.
  pid_t pid_ = ::getpid();
  std::uint64_t removed_old_s_ = 0;  ///< Unix time.
};

}  // namespace tracer::internal
