// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/note_thread.hpp"
#include "rules/engines/snakefile.hpp"

namespace tracer::internal {

/// The files in which a run's rules are written, and what they say of their commands. They are read once, when
/// the run begins.
class RecipeFiles {
 public:
  using Ask = std::function<NoteAnswer(const NoteRequest& request)>;
  static constexpr std::size_t kMostFiles = 32;  ///< With more, no rule is named.

  /// The first of the paths that can be read counts, with what it includes.
  explicit RecipeFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  /// False: not all is read yet, ask again.
  bool read(const Ask& ask);
  /// After read(): the one rule that runs this command. Absent: it is not known for sure.
  std::optional<std::string> rule_that_runs(std::string_view command) const;

 private:
  bool read_next(const Ask& ask);

  std::vector<std::string> paths_;     ///< Of which the first is to be read next.
  std::vector<std::string> included_;  ///< Likewise, all of them.
  std::vector<Snakefile> files_;
  bool complete_ = true;
};

}  // namespace tracer::internal
