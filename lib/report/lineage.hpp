// SPDX-License-Identifier: Apache-2.0
/// Which task read and wrote which files, from the events of one or several recordings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/report.hpp>

#include "base/file_id.hpp"
#include "report/sums/file_contents.hpp"
#include "state/book.hpp"

namespace tracer::internal {

/// A task; or what a run, or the host, did outside of all tasks: by tool, unless an engine did it.
struct LineageTask {
  std::optional<Key> task_key;
  std::optional<Key> run_key;
  std::string name;  ///< For people: "ALIGN (S1)".
  std::optional<std::string> run;
  std::optional<std::string> step;
  std::optional<std::string> sample;
  std::optional<std::string> tool;
};

enum class FileRole {
  kInput,         ///< Read, and written by nobody who was seen.
  kIntermediate,  ///< Written, and read afterwards.
  kOutput,        ///< Written, and not read afterwards: a result, or in vain.
  kUntouched,     ///< Neither read nor written: only renamed, deleted or opened.
  kUnknown,       ///< Read or written, but whether it is one of the first three is not known.
};
const char* to_string(FileRole role) noexcept;

/// A content of a file that was used: the same inode of the same host and device, until another content begins there.
struct LineageFile {
  std::string path;                      ///< The last that was seen, or that it was renamed to.
  std::vector<std::string> other_paths;  ///< Of before it was renamed, or of other processes; 16 at most.
  FileRole role = FileRole::kInput;
  std::uint64_t opens = 0;
  std::optional<Figure> read_bytes;  ///< Absent: nothing is known of it.
  std::optional<Figure> written_bytes;
  std::uint64_t size_bytes = 0;      ///< At the last close that was seen.
  std::vector<std::size_t> writers;  ///< Places in LineageGraph::tasks, in the order of their closes, each once.
  std::vector<std::size_t> readers;
  std::vector<std::size_t> possible_writers;  ///< Not for certain, and not among those.
  std::vector<std::size_t> possible_readers;
  bool may_be_several = false;  ///< One that wrote it began several contents, or may have: they count as one.
  std::size_t version = 1;      ///< Of the contents that a file of this path had one after another, from 1.
  std::size_t versions = 1;     ///< How many there are.
  std::optional<bool> deleted;  ///< Absent: the kernel did not show it.
};

/// Of a task and a file there may be an edge of each but one: kReadWrite stands for both, if both are as certain.
enum class FileMode { kRead, kWrite, kReadWrite, kRename, kDelete };
const char* to_string(FileMode mode) noexcept;

struct LineageEdge {
  std::size_t task = 0;
  std::size_t file = 0;
  FileMode mode = FileMode::kRead;
  bool certain = true;                     ///< False: the task may have used another content of the file.
  std::vector<std::size_t> from = {};      ///< Of a read: other tasks that wrote what it read, 64 at most.
  std::vector<std::size_t> may_from = {};  ///< Likewise, but that is not certain.
};

struct LineageGraph {
  std::vector<LineageTask> tasks;  ///< In the order of their first close.
  std::vector<LineageFile> files;  ///< Likewise.
  std::vector<LineageEdge> edges;  ///< By task, then by file, then by mode.
  std::uint64_t folded_opens = 0;  ///< Opens of files that are not told apart.
  std::uint64_t left_out = 0;      ///< Uses beyond LineageBuilder::kMostUses.
  bool seen = false;               ///< The recordings have uses of files at all.
  bool sees_opens = false;         ///< And when they were opened.
  bool sees_moves = false;         ///< And renames and deletes of them: null otherwise.
  std::string folder = {};         ///< That people see paths relative to: as RunFolder.
};

/// Collects uses of files. Bounded.
class LineageBuilder {
 public:
  static constexpr std::size_t kMostUses = 2'000'000;
  static constexpr std::size_t kMostPathBytes = 256u << 20;

  /// `host`: the number of the boot of a host that the event is from; `wall_offset_ns`: of its clock.
  void add(const Event& event, std::size_t host, std::uint64_t wall_offset_ns);
  LineageGraph build() const;

 private:
  struct Use {
    std::size_t task;
    std::size_t path;
    std::size_t host;
    FileId file;
    ContentUse content;
    std::uint64_t opens;
    std::optional<std::uint64_t> read_bytes;
    std::optional<std::uint64_t> written_bytes;
    std::optional<std::uint64_t> size_bytes;
    bool renames;
    std::optional<std::size_t> renamed_to;
    bool sees_moves;
    std::optional<std::uint64_t> deleted_ns;  ///< At the latest.
  };
  class Names;
  using Uses = std::vector<const Use*>;
  void add_content(const Uses& uses, const std::vector<ContentUse>& times, const Content& content,
                   const MayBegins& unnamed, LineageGraph& lineage) const;

  void add_use(const FileUse& use, std::size_t host, std::uint64_t wall_offset_ns);
  static LineageTask task_of(const Context& context);
  std::size_t place_of(const Process& process);
  std::size_t place_of(const std::string& path);

  std::vector<LineageTask> tasks_;
  Book book_{std::make_shared<Accounts>(), {}, Book::kMostBytesOfRecording, Book::kMostBytesOfRecording};
  std::map<std::pair<ScopeId, std::string>, std::size_t> task_places_;  ///< By tool where that tells them apart.
  std::vector<const std::string*> paths_;                               ///< Keys of path_places_.
  std::size_t path_bytes_ = 0;
  std::map<std::string, std::size_t> path_places_;
  std::vector<Use> uses_;
  std::uint64_t folded_opens_ = 0;
  std::uint64_t left_out_ = 0;
  bool seen_ = false;
  bool sees_opens_ = false;
  std::map<std::size_t, MayBegins> unnamed_writes_;  ///< By host.
};

/// {"schema": 1, "tasks": [], "files": [], "edges": []}
std::string to_json(const LineageGraph& lineage);

}  // namespace tracer::internal
