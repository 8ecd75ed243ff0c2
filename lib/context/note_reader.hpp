// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tracer/process.hpp>

namespace tracer::internal {

inline constexpr std::size_t kMostNoteBytes = 64u << 10;

struct NoteRequest {
  std::string path;  ///< As the process sees it. With "*" in its last part: of such files, that whose name sorts last.
  std::size_t most_lines = 0;
  bool from_the_end = false;  ///< The last lines, otherwise the first.
};

/// Lines, of at most kMostNoteBytes, of a file that an engine has written for others to read, below the root of the
/// process and no other. Absent: it or the process is gone, it is no regular file, a symbolic link, or not of the
/// process's own user.
std::optional<std::vector<std::string>> read_note_lines(const NoteRequest& request, const Process& process);

/// The size of a file of the process's own user, or of anybody's where that is root; nothing in it is read. Absent: as
/// above. May wait for a file system.
std::optional<std::uint64_t> file_bytes(const std::string& path, const Process& process);

struct NoteAnswer {
  std::optional<std::vector<std::string>> lines = {};
  bool in_time = true;  ///< The process that they were read for still lived, so that they say nothing of later times.
  bool whole = true;    ///< There was no more to read.
};

using ReadNotes = std::function<NoteAnswer(const NoteRequest& request, const Process& process)>;

/// By read_note_lines(). May wait for a file system.
NoteAnswer read_notes(const NoteRequest& request, const Process& process);

}  // namespace tracer::internal
