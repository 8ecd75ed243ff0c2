// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>

#include <tracer/context.hpp>

namespace tracer::internal {

/// By the keys that tasks have in a recording: what the host of their engine says of them.
using NamesOfTasks = std::map<Key, Context>;

/// A file of a recording again, in a new file: the same events and clocks, frame by frame, but these tasks are
/// of the run that their engine's host saw. Damage is left out. Throws what RecordingReader throws, and
/// Error(kFileUnwritable).
void copy_recording(const std::filesystem::path& from, const std::filesystem::path& to, const NamesOfTasks& names);

}  // namespace tracer::internal
