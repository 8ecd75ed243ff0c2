// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include <tracer/process.hpp>

#include "context/note_reader.hpp"
#include "context/recipe_files.hpp"
#include "rules/engines/engine_rules.hpp"

namespace tracer::internal {

/// What the files of an engine are asked: what one rule looks for in them. Owns all that it needs, as it is answered
/// beside the events.
struct NoteQuestion {
  std::shared_ptr<const EngineRules> rules;
  const EngineRule* rule = nullptr;         ///< Of these. Null: the run's recipes are only read.
  std::optional<RecipeFiles> recipes = {};  ///< Of the run; absent: there are none, or they don't count.
  Captures captures = {};
  Process process = {};
};

struct NoteFindings {
  bool found = false;      ///< What is looked for is there, and clear.
  Captures captures = {};  ///< With what was found.
};

/// May wait for file systems, and take as long as what users have written is large.
NoteFindings look_up(const NoteQuestion& question, const ReadNotes& read);
/// What was captured before must be the same. Adds what the lines of an engine's notes give. False: what is looked for
/// is not among them, or not clearly.
bool match_notes(const NoteFile& notes, const NoteAnswer& answer, Captures& captures);

}  // namespace tracer::internal
