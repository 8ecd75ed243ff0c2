// SPDX-License-Identifier: Apache-2.0
#include "show/lineage_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/path_below.hpp"
#include "show/figures.hpp"
#include "show/grid.hpp"
#include "show/screen.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostFiles = 40;
constexpr std::size_t kMostTasks = 40;
constexpr std::size_t kMostFilesOfTask = 8;
constexpr std::size_t kMostName = 60;
constexpr std::size_t kMostPath = 200;

constexpr const char* kNothing =
    "No uses of files: the recording was made without the family files, or nothing but noise was used.\n";

std::uint64_t traffic_of(const LineageFile& file) {
  return file.read_bytes.value_or(Figure{}).value + file.written_bytes.value_or(Figure{}).value;
}

/// Empty: no path is shown relative to it.
std::string folder_line(const LineageGraph& lineage) {
  return lineage.folder.empty() ? "" : fmt::format("paths are relative to {}\n\n", visible(lineage.folder, kMostPath));
}

std::string name_of(const LineageGraph& lineage, const std::vector<std::size_t>& tasks) {
  if (tasks.empty()) return "";
  std::string name = visible(lineage.tasks[tasks.front()].name, kMostName);
  if (tasks.size() > 1) name += fmt::format(" and {} more", tasks.size() - 1);
  return name;
}

std::string rest_text(std::size_t rest, const char* one, const char* many) {
  return rest == 0 ? "" : fmt::format("{} {} more", symbols().ellipsis, format_count(rest, one, many));
}

/// "f.txt (version 2 of 3)"
std::string named_path(const LineageGraph& lineage, const LineageFile& file) {
  const std::string path = visible(shown_path(lineage, file), kMostPath);
  return file.versions == 1 ? path : fmt::format("{} (version {} of {})", path, file.version, file.versions);
}

bool is_deleted(const LineageFile& file) { return file.deleted.value_or(false); }

std::string role_text(const LineageFile& file) {
  return std::string(to_string(file.role)) + (is_deleted(file) ? ", deleted" : "");
}

bool any_unknown(const LineageGraph& lineage) {
  return std::any_of(lineage.files.begin(), lineage.files.end(),
                     [](const LineageFile& file) { return file.role == FileRole::kUnknown; });
}

/// What a reader of it must know.
std::string footnotes(const LineageGraph& lineage) {
  std::string text;
  if (lineage.folded_opens != 0)
    text += fmt::format("not named: {} of unlinked files, or of more files than a process's first 8,192\n",
                        format_count(lineage.folded_opens, "open", "opens"));
  if (!lineage.sees_moves) text += "not seen: renames and deletes, for which the kernel must let functions be traced\n";
  if (any_unknown(lineage) && !lineage.sees_opens)
    text += "not known: which content of some files was read, for which the kernel must let functions be traced\n";
  if (lineage.left_out != 0) text += fmt::format("left out: {}\n", format_count(lineage.left_out, "use", "uses"));
  return text;
}

constexpr bool reads(FileMode mode) noexcept { return mode == FileMode::kRead || mode == FileMode::kReadWrite; }
constexpr bool writes(FileMode mode) noexcept { return mode == FileMode::kWrite || mode == FileMode::kReadWrite; }

struct OfTask {
  std::vector<const LineageEdge*> reads;
  std::vector<const LineageEdge*> writes;
  std::vector<const LineageEdge*> renames;  ///< Of what others wrote, or nobody.
  std::vector<const LineageEdge*> deletes;  ///< Likewise.

  bool empty() const noexcept { return reads.empty() && writes.empty() && renames.empty() && deletes.empty(); }
};

std::vector<OfTask> by_task(const LineageGraph& lineage) {
  std::vector<OfTask> tasks(lineage.tasks.size());
  for (const LineageEdge& edge : lineage.edges) {
    OfTask& task = tasks[edge.task];
    if (reads(edge.mode)) task.reads.push_back(&edge);
    if (writes(edge.mode)) task.writes.push_back(&edge);
    const auto& writers = lineage.files[edge.file].writers;
    if (std::find(writers.begin(), writers.end(), edge.task) != writers.end()) continue;
    if (edge.mode == FileMode::kRename) task.renames.push_back(&edge);
    if (edge.mode == FileMode::kDelete) task.deletes.push_back(&edge);
  }
  return tasks;
}

/// "from A", "maybe from B"
std::string with_names(const LineageGraph& lineage, const char* how, const std::vector<std::size_t>& certain,
                       const std::vector<std::size_t>& possible) {
  if (!certain.empty()) return std::string(how) + name_of(lineage, certain);
  return possible.empty() ? "" : std::string("maybe ") + how + name_of(lineage, possible);
}

/// By the places of files: the edges of those who read them.
using Readers = std::vector<std::vector<const LineageEdge*>>;

Readers readers_of(const LineageGraph& lineage) {
  Readers readers(lineage.files.size());
  for (const LineageEdge& edge : lineage.edges)
    if (reads(edge.mode)) readers[edge.file].push_back(&edge);
  return readers;
}

bool contains(const std::vector<std::size_t>& tasks, std::size_t task) {
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

/// Who read what this task wrote.
std::string to_text(const LineageGraph& lineage, const Readers& readers, const LineageEdge& edge) {
  std::vector<std::size_t> certain;
  std::vector<std::size_t> possible;
  for (const LineageEdge* reader : readers[edge.file]) {
    if (contains(reader->from, edge.task)) certain.push_back(reader->task);
    if (contains(reader->may_from, edge.task)) possible.push_back(reader->task);
  }
  return with_names(lineage, "to ", certain, possible);
}

std::string writers_text(const LineageGraph& lineage, const LineageEdge& edge) {
  std::vector<std::size_t> others = lineage.files[edge.file].writers;
  std::erase(others, edge.task);
  return with_names(lineage, "from ", others, {});
}

/// `others_of`: who, beside the task, is named with each file.
template <class OthersOf>
void add_files(Grid& grid, const LineageGraph& lineage, std::vector<const LineageEdge*> edges, const char* verb,
               const OthersOf& others_of) {
  std::stable_sort(edges.begin(), edges.end(), [&](const LineageEdge* a, const LineageEdge* b) {
    return lineage.files[a->file].size_bytes > lineage.files[b->file].size_bytes;
  });
  for (std::size_t i = 0; i < std::min(edges.size(), kMostFilesOfTask); ++i) {
    const LineageFile& file = lineage.files[edges[i]->file];
    std::string others = others_of(*edges[i]);
    if (is_deleted(file) && edges[i]->mode != FileMode::kDelete) others += others.empty() ? "deleted" : ", deleted";
    grid.add({(edges[i]->certain ? "  " : "  maybe ") + std::string(verb), named_path(lineage, file),
              format_bytes(file.size_bytes), others});
  }
  if (edges.size() > kMostFilesOfTask)
    grid.add({"", rest_text(edges.size() - kMostFilesOfTask, "file", "files"), "", ""});
}

std::uint64_t size_of(const LineageFile& file) { return file.size_bytes; }
std::uint64_t read_of(const LineageFile& file) { return file.read_bytes.value_or(Figure{}).value; }
bool is_read_again(const LineageFile& file) {
  return !file.may_be_several && file.size_bytes != 0 && read_of(file) / 2 >= file.size_bytes;
}

std::string sums_text(const LineageGraph& lineage) {
  std::string text;
  const auto add = [&](const auto& counts, const char* what, std::uint64_t (*bytes_of)(const LineageFile&) = size_of) {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    for (const LineageFile& file : lineage.files) {
      if (!counts(file)) continue;
      ++files;
      bytes += bytes_of(file);
    }
    if (files != 0)
      text += fmt::format("{}: {}, {}\n", what, format_count(files, "file", "files"), format_bytes(bytes));
  };
  const auto has = [](FileRole role) { return [role](const LineageFile& file) { return file.role == role; }; };
  add(has(FileRole::kInput), "read, and written by nobody here");
  add(has(FileRole::kIntermediate), "written, and read afterwards");
  add(has(FileRole::kOutput), "written, and not read afterwards");
  add(has(FileRole::kUnknown), "by whom they were written, or whether they were read afterwards, is not known");
  add(has(FileRole::kUntouched), "only renamed, deleted or opened");
  add(is_deleted, "deleted, of all these");
  add(is_read_again, "read again and again, twice their size or more", read_of);
  return text;
}

}  // namespace

std::string shown_path(const LineageGraph& lineage, const LineageFile& file) {
  const std::string& folder = lineage.folder;
  const bool is_inside = !folder.empty() && file.path != folder && is_below(file.path, folder);
  return is_inside ? file.path.substr(folder.size() + 1) : file.path;
}

std::string files_text(const LineageGraph& lineage) {
  if (!lineage.seen) return kNothing;
  std::vector<const LineageFile*> files;
  for (const LineageFile& file : lineage.files) files.push_back(&file);
  std::stable_sort(files.begin(), files.end(),
                   [](const LineageFile* a, const LineageFile* b) { return traffic_of(*a) > traffic_of(*b); });
  Grid grid({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft,
             Align::kLeft});
  grid.add({"size", "read", "written", "opens", "role", "written by", "read by", "path"});
  for (std::size_t i = 0; i < std::min(files.size(), kMostFiles); ++i) {
    const LineageFile& file = *files[i];
    grid.add({format_bytes(file.size_bytes), format_figure(file.read_bytes, format_bytes),
              format_figure(file.written_bytes, format_bytes), std::to_string(file.opens), role_text(file),
              with_names(lineage, "", file.writers, file.possible_writers),
              with_names(lineage, "", file.readers, file.possible_readers), named_path(lineage, file)});
  }
  std::string text = folder_line(lineage) + grid.text();
  if (files.size() > kMostFiles) text += rest_text(files.size() - kMostFiles, "file", "files") + " (all: --json)\n";
  return text + '\n' + sums_text(lineage) + footnotes(lineage);
}

std::string lineage_text(const LineageGraph& lineage) {
  if (!lineage.seen) return kNothing;
  const std::vector<OfTask> tasks = by_task(lineage);
  const Readers readers = readers_of(lineage);
  Grid grid({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  std::size_t shown = 0;
  std::size_t rest = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].empty()) continue;
    if (shown == kMostTasks) {
      ++rest;
      continue;
    }
    ++shown;
    grid.add({visible(lineage.tasks[i].name, kMostName)});
    const auto from = [&](const LineageEdge& edge) { return with_names(lineage, "from ", edge.from, edge.may_from); };
    const auto to = [&](const LineageEdge& edge) { return to_text(lineage, readers, edge); };
    const auto writers = [&](const LineageEdge& edge) { return writers_text(lineage, edge); };
    add_files(grid, lineage, tasks[i].reads, "reads", from);
    add_files(grid, lineage, tasks[i].writes, "writes", to);
    add_files(grid, lineage, tasks[i].renames, "renames", writers);
    add_files(grid, lineage, tasks[i].deletes, "deletes", writers);
  }
  std::string text = folder_line(lineage) + grid.text();
  if (rest != 0) text += rest_text(rest, "task", "tasks") + " (all: --json)\n";
  return text + '\n' + sums_text(lineage) + footnotes(lineage);
}

}  // namespace tracer::internal
