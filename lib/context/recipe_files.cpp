// SPDX-License-Identifier: Apache-2.0
#include "context/recipe_files.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

constexpr std::size_t kMostLines = 10000;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

bool RecipeFiles::read(const Ask& ask) {
  while (!paths_.empty() || !included_.empty())
    if (!read_next(ask)) return false;
  return true;
}

bool RecipeFiles::read_next(const Ask& ask) {
  const bool first = !paths_.empty();
  const std::string path = first ? paths_.front() : included_.front();
  NoteAnswer answer = ask({path, kMostLines});
  if (answer.pending) return false;
  if (!first) {
    included_.erase(included_.begin());
  } else if (answer.lines) {
    paths_.clear();
  } else {
    paths_.erase(paths_.begin());
    return true;
  }
  const std::string text = answer.lines ? joined(*answer.lines) : std::string();
  // What is longer was not read to its end.
  if (!answer.lines || answer.lines->size() >= kMostLines || text.size() >= kMostNoteBytes ||
      files_.size() >= kMostFiles) {
    complete_ = false;
    included_.clear();
    return true;
  }
  Snakefile file = Snakefile::parse(text);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const std::string& include : file.includes)
    included_.push_back(include.starts_with('/') ? include : folder + include);
  if (included_.size() > kMostFiles) complete_ = false, included_.clear();
  files_.push_back(std::move(file));
  return true;
}

std::optional<std::string> RecipeFiles::rule_that_runs(std::string_view command) const {
  return complete_ ? internal::rule_that_runs(files_, command) : std::nullopt;
}

}  // namespace tracer::internal
