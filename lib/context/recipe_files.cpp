// SPDX-License-Identifier: Apache-2.0
#include "context/recipe_files.hpp"

#include <mutex>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::size_t kMostLines = 10000;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

struct RecipeFiles::Files {
  std::mutex mutex;
  std::vector<std::string> paths;     ///< Of which the first is to be read next.
  std::vector<std::string> included;  ///< Likewise, all of them.
  std::vector<Snakefile> read;
  bool complete = true;

  void read_next(const ReadFile& read_file);
};

RecipeFiles::RecipeFiles(std::vector<std::string> paths) : files_(std::make_shared<Files>()) {
  files_->paths = std::move(paths);
}

void RecipeFiles::Files::read_next(const ReadFile& read_file) {
  const bool first = !paths.empty();
  const std::string path = first ? paths.front() : included.front();
  const NoteAnswer answer = read_file({path, kMostLines});
  if (!first) {
    included.erase(included.begin());
  } else if (answer.lines) {
    paths.clear();
  } else {
    paths.erase(paths.begin());
    return;
  }
  const std::string text = answer.lines ? joined(*answer.lines) : std::string();
  // What is longer was not read to its end.
  if (!answer.lines || answer.lines->size() >= kMostLines || text.size() >= kMostNoteBytes ||
      read.size() >= kMostFiles) {
    complete = false;
    included.clear();
    return;
  }
  Snakefile file = Snakefile::parse(text);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const std::string& include : file.includes)
    included.push_back(include.starts_with('/') ? include : folder + include);
  if (included.size() > kMostFiles) complete = false, included.clear();
  read.push_back(std::move(file));
}

void RecipeFiles::read(const ReadFile& read) const {
  // Another user's files may hang.
  const std::unique_lock lock(files_->mutex, std::try_to_lock);
  while (lock && (!files_->paths.empty() || !files_->included.empty())) files_->read_next(read);
}

std::optional<std::string> RecipeFiles::rule_that_runs(std::string_view command) const {
  const std::unique_lock lock(files_->mutex, std::try_to_lock);
  const bool all = lock && files_->complete && files_->paths.empty() && files_->included.empty();
  return all ? internal::rule_that_runs(files_->read, command) : std::nullopt;
}

}  // namespace tracer::internal
