// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/note_reader.hpp"
#include "rules/engines/snakefile.hpp"

namespace tracer::internal {

/// The files in which a run's rules are written, and what they say of their commands. They are read once. Copies are
/// the same files. Any thread; while one reads or looks something up, they say nothing to others.
class RecipeFiles {
 public:
  using ReadFile = std::function<NoteAnswer(const NoteRequest& request)>;
  static constexpr std::size_t kMostFiles = 32;  ///< With more, no rule is named.

  /// The first of the paths that can be read counts, with what it includes.
  explicit RecipeFiles(std::vector<std::string> paths);

  void read(const ReadFile& read) const;
  /// After read(): the one rule that runs this command. Absent: it is not known for sure.
  std::optional<std::string> rule_that_runs(std::string_view command) const;

 private:
  struct Files;
  std::shared_ptr<Files> files_;
};

}  // namespace tracer::internal
