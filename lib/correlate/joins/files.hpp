// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bounded.hpp"
#include "correlate/joins/family_join.hpp"
#include "correlate/joins/maybe_number.hpp"

namespace tracer::internal {

/// Collects the files of each process until it ends. What is beyond the constants is folded, and its opens are counted.
class FilesJoin final : public FamilyJoin {
 public:
  static constexpr std::size_t kMostBytes = 20u << 20;  ///< That uses take, of all processes that live.
  static constexpr std::size_t kMostFilesOfProcess = 8192;
  /// Of a process, once its user's take half of it: so that those which come later have some, too.
  static constexpr std::size_t kFewFilesOfProcess = 256;

  explicit FilesJoin(std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>());
  Family family() const noexcept override { return Family::kFiles; }
  void add(const FileUseRecord& record, const Process& process) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events) override;
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  static constexpr std::size_t kMostBytesOfParents = 6u << 20;
  static constexpr std::uint64_t kNever = MaybeNumber::kMost;
  struct Sums {
    std::uint64_t opens = 0;
    MaybeNumber read_bytes = 0;  ///< Not known, as written_bytes: its positions don't say.
    MaybeNumber written_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t closed_ns = 0;     ///< Without opens: the last rename or delete.
    MaybeNumber opened_ns = kNever;  ///< The first open.
    MaybeNumber renames = 0;         ///< Not known, as deletes: not seen on this kernel.
    MaybeNumber deletes = 0;
    MaybeNumber modified_ns = {};  ///< Not known: it was not opened for writing.
    std::uint64_t begins = 0;
    bool may_begin = false;
    bool created = false;
    bool reads = false;
    bool writes = false;
    bool reads_earlier = false;
    bool wrote = false;  ///< For certain.

    std::uint64_t uses() const noexcept;
    void add(const Sums& later);
  };
  /// A path whose folder, with the last slash, others share.
  struct Path {
    const std::string* folder = nullptr;  ///< Null: not known.
    std::string name = {};

    bool known() const noexcept { return folder != nullptr; }
    bool is(std::string_view path) const noexcept;
    std::string text() const { return *folder + name; }
  };
  /// Few files have any of it.
  struct More {
    Path renamed_to = {};
    Sums before = {};  ///< Of earlier rounds.
  };
  enum class At : std::uint8_t { kClose, kRename, kDelete };
  struct Use {
    Path path = {};  ///< Not known: its first record has not come.
    const std::string* filesystem = nullptr;
    std::unique_ptr<More> more = {};
    Sums now = {};  ///< Of the round that goes on.
    std::optional<std::uint32_t> euid = {};
    At path_at = At::kClose;
    bool path_cut = false;

    bool was_deleted() const noexcept;
    Sums sum() const;
  };
  /// With what the tree and the allocator add.
  static constexpr std::size_t kUseBytes = sizeof(std::pair<const FileUseRecord::File, Use>) + 48;
  static constexpr std::size_t kTextBytes = sizeof(std::string) + 32;
  /// The files of a process that are told apart.
  struct Files {
    std::map<FileUseRecord::File, Use> uses = {};
    std::vector<std::pair<FileUseRecord::File, Use>> earlier = {};  ///< Whose number was given to another file.
    std::unordered_set<std::string> texts = {};                     ///< Folders, and kinds of file systems.
    std::size_t bytes = 0;                                          ///< That all this takes.

    std::size_t size() const noexcept { return uses.size() + earlier.size(); }
  };
  /// What is kept of a process in any case.
  struct Rest {
    std::uint64_t start_ns = 0;
    Sums others = {};      ///< That are not told apart.
    bool folded = false;   ///< None is any more.
    bool no_room = false;  ///< The source has said so.
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
  static std::optional<bool> modified_meanwhile(const Sums& sum, const Use& use, std::uint64_t start_ns);
  static const char* name_of(At at) noexcept;
  bool fits_into(const Files& files, const Process& process) const noexcept;
  const std::string* kept(Files& files, std::string text);
  Path path_of(Files& files, std::string_view text);
  More& more_of(Files& files, Use& use);
  void name(Files& files, Use& use, const FileUseRecord& record);
  Rest& rest_of(const RecordIdentity& identity);
  Files* files_of(const Rest& rest, const FileUseRecord& record, const Process& process);
  /// False: there is no room for another one.
  bool add(Files& files, const FileUseRecord& record, const Process& process);
  void fold(std::uint32_t pid, const Files& files);
  static FileUse event_of(const FileUseRecord::File& file, const Use& use, std::uint64_t start_ns);
  Moved moved_by(const ExitRecord& record, const Process& process);
  Files take(std::uint32_t pid);
  static void report(const Files& files, Sums others, std::uint64_t time_ns,
                     const std::shared_ptr<const Process>& process, const std::optional<Moved>& most,
                     std::vector<Event>& events);

  std::shared_ptr<Accounts> accounts_;
  Bounded<std::uint32_t, Files> files_;  ///< By pid, as the next.
  std::unordered_map<std::uint32_t, Rest> processes_;
  Bounded<std::uint32_t, Moved> children_;  ///< By pid: what the children of a process that lives have moved.
};

}  // namespace tracer::internal
