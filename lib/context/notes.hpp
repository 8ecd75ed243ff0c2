// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context/note_thread.hpp"
#include "rules/engines/engine_rules.hpp"

namespace tracer::internal {

/// What was captured before must be the same. Adds what the lines of an engine's notes give. False: what is looked for
/// is not among them, or not clearly.
bool match_notes(const NoteFile& notes, const NoteAnswer& answer, Captures& captures);

}  // namespace tracer::internal
