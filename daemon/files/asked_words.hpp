// SPDX-License-Identifier: Apache-2.0
/// Words behind a command that reads a recording and is asked about something in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tracerd {

struct AskedWords {
  std::vector<std::string> files;
  std::optional<std::string> asked;
};

/// The last word is what is asked, unless it is a recording. Throws tracer::Error.
AskedWords asked_words(const std::vector<std::string>& given);

/// Alone, it may be the path of a recording: it is one, also where there is none.
bool looks_like_path(const std::string& word);

}  // namespace tracerd
