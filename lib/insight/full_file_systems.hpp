// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/fair_room.hpp"
#include "base/user_threads.hpp"
#include "insight/detector.hpp"
#include "insight/shares.hpp"
#include "insight/works.hpp"
#include "source/proc/file_system_space.hpp"

namespace tracer::internal {

/// Findings about file systems that were full when a process failed that had written to them, or whose task had and
/// failed, too; or that may have been, by what has been removed since, or by a look at the last snapshot before. They
/// are asked beside the events, by users, and only while these happen. Bounded: as Works, and by the constants below.
class FullFileSystems : public Detector {
 public:
  using ReadSpace = std::function<std::optional<FileSystemSpace>(const SpaceQuestion&)>;
  using Look = std::function<SpaceLook()>;

  explicit FullFileSystems(FindingBook& book);

  /// Before the first event; without, nothing is asked and nothing found.
  void ask(ReadSpace read, Look look);
  void file_used(const FileUse& use) override;
  void process_ended(const ProcessExit& exit, std::vector<Event>& events) override;
  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;
  void snapshot_ended(const SnapshotEnd& snapshot, std::vector<Event>& events) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;
  /// Waits a moment for answers that are still missing.
  void session_ends(std::uint64_t time_ns, std::vector<Event>& events) override;

 private:
  static constexpr std::size_t kMostDevices = 16;     ///< Of one task or run: those that it wrote to last.
  static constexpr std::size_t kMostFiles = 128;      ///< Of one task or run, the largest.
  static constexpr std::size_t kMostQuestions = 512;  ///< For all users; one alone may hold half of it.
  static constexpr std::size_t kFilesOfQuestion = 8;  ///< With more files it counts for several.
  static constexpr std::size_t kMostLooks = 16;       ///< The last ones: that at the end itself is too late.
  static constexpr std::size_t kMostThreads = 8;      ///< As many users' file systems may hang.

  /// A file that was written, on the file system of that number.
  struct Written {
    std::uint64_t device = 0;
    std::string path;
    std::uint32_t pid = 0;  ///< Of the last that wrote there.
    std::uint64_t start_ns = 0;
    std::optional<std::uint32_t> euid;
  };
  struct Failed {
    ScopeId scope = ScopeId::kNone;  ///< The innermost that it was in.
    std::shared_ptr<const Process> process;
    std::string how;
    std::string path;
    std::uint64_t end_ns = 0;
    bool wrote_itself = false;
    std::optional<std::uint32_t> euid = {};  ///< As which user the path was written to.
    std::uint64_t device = 0;
    bool sees_moves = false;
    std::size_t held = 1;              ///< Of the room for questions.
    std::uint64_t unlinked_bytes = 0;  ///< At most: that it wrote to files that had no name any more.
    std::optional<std::uint64_t> free_before_bytes = {};  ///< At the last look before its end.
    std::uint64_t written_bytes = 0;                      ///< Since then: by it, or by the pace of all.
    std::uint64_t closed_bytes = 0;                       ///< Of files there that were closed since then.
    bool may = false;                                     ///< The file system is not full, but may have been.
  };
  struct File {
    std::uint64_t device = 0;
    std::uint64_t closed_ns = 0;
    WrittenFile file;

    std::size_t cost() const noexcept { return sizeof *this + file.path.size(); }
  };
  /// What the process did whose files were reported last.
  struct LastWriter {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t named_bytes = 0;  ///< Sizes of what it wrote, but for files without a name.
    bool unlinked = false;          ///< It wrote such, too.
  };
  struct Work {
    std::vector<Written> written = {};  ///< The last one at the end.
    std::vector<File> files = {};
    std::size_t file_bytes = 0;  ///< That they take here.
    bool sees_moves = false;     ///< Their renames are seen.
    LastWriter last_writer = {};
    std::shared_ptr<const Context> context = {};
    std::optional<bool> failed = {};  ///< Absent: it has not finished.
    std::size_t questions = 0;        ///< Without an answer.
    std::optional<std::pair<Failed, FileSystemSpace>> found = {};
    bool said = false;
  };
  struct Answers;

  uid_t user_of(const Process& process) const { return book_.accounts()->user_of(owner_of(process)); }
  void add_file(Work& work, const FileUse& use);
  void note_writer(Work& work, const FileUse& use);
  void note_move(const FileUse& use);
  void question(Failed failed, const Written& written, Work& work);
  void note_looks(Failed& failed, const ProcessSpan& last, const Work& work) const;
  void begin_look();
  void take_answers(std::uint64_t time_ns, std::vector<Event>& events);
  bool is_full(std::uint64_t free_bytes, std::uint64_t size_bytes) const {
    return free_bytes <= most_free_bytes_ && percent(free_bytes, size_bytes) < most_free_percent_;
  }
  bool is_full(const FileSystemSpace& space) const {
    return has_no_inode(space) || is_full(space.free_bytes, space.size_bytes);
  }
  bool may_have_been_full(const Failed& failed, const FileSystemSpace& space) const;
  bool has_no_inode(const FileSystemSpace& space) const;
  void decide(Work& work, std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::uint64_t most_free_bytes_;
  std::uint64_t most_free_percent_;
  ReadSpace read_;  ///< Empty: nothing is asked.
  std::shared_ptr<Answers> answers_;
  UserThreads threads_{kMostThreads};
  std::uint64_t last_question_ = 0;
  std::map<std::uint64_t, Failed> questions_;  ///< By number, without an answer.
  std::uint64_t first_of_exit_ = 0;            ///< Number of the first question about the process that ended last.
  Look look_;
  bool looks_ = false;          ///< A look is under way.
  std::deque<SpaceLook> seen_;  ///< The last one at the end.
  FairRoom questions_room_{kMostQuestions};
  Works<Work> works_;
};

}  // namespace tracer::internal
