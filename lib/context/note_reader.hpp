// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// Lines, of at most kMostNoteBytes, of a file that an engine has written for others to read. Absent: it is gone, no
/// regular file, a symbolic link, or not of the process's own user.
std::optional<std::vector<std::string>> read_note_lines(const NoteRequest& request, const Process& process);
/// Of what was read: all of the file.
bool is_whole(const NoteRequest& request, const std::vector<std::string>& lines) noexcept;

}  // namespace tracer::internal
