// SPDX-License-Identifier: Apache-2.0
/// Answers about one run or task of a recording, for views.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tracer/export.hpp>
#include <tracer/key.hpp>

namespace tracer {

class RecordingReader;

/// What `tracerd why --json FILE ASKED` prints, of the rest of a recording: docs/findings.md. `asked`: a name, id, key
/// or pid. Empty: findings and runs of the whole recording. Absent: it has no such run, task or process, or several.
/// Throws Error(kFileUnreadable).
TRACER_EXPORT std::optional<std::string> why_json(RecordingReader& reader, std::string_view asked);

/// What a run or task consumed and moved over time, in all and by step, of the rest of a recording: docs/state.md.
/// Absent: nothing in it has this key. Throws Error(kFileUnreadable).
TRACER_EXPORT std::optional<std::string> over_time_json(RecordingReader& reader, Key key);

}  // namespace tracer
