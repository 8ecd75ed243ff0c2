// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/quantities.hpp"
#include "show/lineage_text.hpp"
#include "show/screen.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostBoxes = 40;  ///< Where there are more tasks, those of a step are one box.
constexpr std::size_t kMostLabel = 80;
constexpr std::size_t kLeastPattern = 3;
constexpr std::size_t kLeastHashDigits = 16;
constexpr std::size_t kHashDigitsShown = 6;

/// Tasks that are shown as one, by their places.
using Boxes = std::set<std::size_t>;

/// Files that the same tasks wrote and read: one note.
struct Note {
  Boxes writers;
  Boxes readers;
  FileRole role;

  auto operator<=>(const Note&) const = default;
};

bool is_engine(const LineageTask& task) { return !task.task_key && !task.tool; }

/// For each task the first one in its box.
std::vector<std::size_t> boxes_of(const LineageGraph& lineage) {
  std::map<std::pair<std::optional<Key>, std::string>, std::size_t> steps;
  std::vector<std::size_t> boxes;
  for (std::size_t i = 0; i < lineage.tasks.size(); ++i) {
    const LineageTask& task = lineage.tasks[i];
    const bool folds = lineage.tasks.size() > kMostBoxes && task.step;
    boxes.push_back(folds ? steps.try_emplace({task.run_key, *task.step}, i).first->second : i);
  }
  return boxes;
}

/// Of a folder that is named by a hash, its first digits.
std::string with_short_hashes(const std::string& path) {
  std::string text;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = std::string_view(path).substr(begin, end - begin);
    const bool is_hash =
        name.size() >= kLeastHashDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    text += is_hash ? std::string(name.substr(0, kHashDigitsShown)) + symbols().ellipsis : std::string(name);
    if (end < path.size()) text += '/';
    begin = end + 1;
  }
  return text;
}

constexpr bool continues_a_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// "results/S*.bam". Empty: they have too little in common.
std::string pattern_of(const std::vector<std::string>& names) {
  std::string_view begin = names.front();
  std::string_view end = names.front();
  for (const std::string& name : names) {
    begin =
        begin.substr(0, static_cast<std::size_t>(
                            std::mismatch(begin.begin(), begin.end(), name.begin(), name.end()).first - begin.begin()));
    const auto same = std::mismatch(end.rbegin(), end.rend(), name.rbegin(), name.rend()).first - end.rbegin();
    end = end.substr(end.size() - static_cast<std::size_t>(same));
  }
  const auto shortest =
      std::min_element(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  end = end.substr(end.size() - std::min(end.size(), shortest->size() - begin.size()));
  // No character is cut.
  while (!begin.empty() && begin.size() < names.front().size() && continues_a_character(names.front()[begin.size()]))
    begin.remove_suffix(1);
  while (!end.empty() && continues_a_character(end.front())) end.remove_prefix(1);
  if (begin.size() + end.size() < kLeastPattern) return "";
  return std::string(begin) + '*' + std::string(end);
}

/// In double quotes.
std::string dot_text(const std::string& text) {
  std::string out;
  for (const char c : visible(text, kMostLabel)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string note_label(const LineageGraph& lineage, const std::vector<const LineageFile*>& files) {
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  for (const LineageFile* file : files) {
    names.push_back(with_short_hashes(shown_path(lineage, *file)));
    bytes += file->size_bytes;
  }
  if (files.size() == 1 && files.front()->versions > 1) names.front() += fmt::format(" ({})", files.front()->version);
  if (names.size() == 1) return dot_text(names.front()) + "\\n" + format_bytes(bytes);
  const std::string pattern = pattern_of(names);
  return fmt::format("{}\\n{} files, {}", dot_text(pattern.empty() ? names.front() + " and others" : pattern),
                     names.size(), format_bytes(bytes));
}

/// "{t1 t2}"
std::string set_text(const Boxes& boxes) { return fmt::format("{{t{}}}", fmt::join(boxes, " t")); }

Boxes boxes_of(const std::vector<std::size_t>& tasks, const std::vector<std::size_t>& boxes) {
  Boxes found;
  for (const std::size_t task : tasks) found.insert(boxes[task]);
  return found;
}

}  // namespace

std::string lineage_dot(const LineageGraph& lineage) {
  // As Graphviz expects it, in any locale.
  const Utf8Scope utf8(true);
  const std::vector<std::size_t> boxes = boxes_of(lineage);
  std::map<Note, std::vector<const LineageFile*>> notes;
  for (const LineageFile& file : lineage.files) {
    Note note{boxes_of(file.writers, boxes), boxes_of(file.readers, boxes), file.role};
    // What an engine looks at itself passes to no task.
    std::erase_if(note.readers, [&](std::size_t box) { return is_engine(lineage.tasks[box]); });
    // What it reads of its own is nobody else's business.
    if (note.writers.size() == 1) note.readers.erase(*note.writers.begin());
    if (note.readers.empty() && !note.writers.empty()) note.role = FileRole::kOutput;
    const bool passes = !note.readers.empty() || (!note.writers.empty() && !file.deleted.value_or(false));
    if (passes && file.role != FileRole::kUntouched) notes[std::move(note)].push_back(&file);
  }
  std::map<std::size_t, std::size_t> tasks_of;
  for (const std::size_t box : boxes) ++tasks_of[box];
  Boxes shown;
  for (const auto& [note, files] : notes) {
    shown.insert(note.writers.begin(), note.writers.end());
    shown.insert(note.readers.begin(), note.readers.end());
  }
  std::string text = "digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const std::size_t box : shown) {
    const LineageTask& task = lineage.tasks[box];
    const std::size_t count = tasks_of[box];
    text += fmt::format("  t{} [label=\"{}\"];\n", box,
                        count == 1 ? dot_text(task.name) : fmt::format("{}\\n{} tasks", dot_text(*task.step), count));
  }
  text += "  node [shape=note];\n";
  std::size_t number = 0;
  for (const auto& [note, files] : notes) {
    const std::string writers = note.writers.empty() ? "" : set_text(note.writers) + " -> ";
    const std::string readers = note.readers.empty() ? "" : " -> " + set_text(note.readers);
    text += fmt::format("  f{} [label=\"{}\"];\n  {}f{}{};\n", number, note_label(lineage, files), writers, number,
                        readers);
    ++number;
  }
  return text + "}\n";
}

}  // namespace tracer::internal
