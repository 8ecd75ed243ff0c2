// SPDX-License-Identifier: Apache-2.0
#include "files/asked_words.hpp"

#include <filesystem>

#include <tracer/error.hpp>

#include "stream/recording_series.hpp"

namespace tracerd {

bool looks_like_path(const std::string& word) { return word == "-" || word.find_first_of("/.") != std::string::npos; }

AskedWords asked_words(const std::vector<std::string>& given) {
  AskedWords words{given, {}};
  if (given.empty() || (given.size() == 1 && looks_like_path(given[0]))) return words;
  if (std::filesystem::exists(given.back())) {
    try {
      tracer::internal::open_parts({given.back()});
      return words;
    } catch (const tracer::Error& error) {
      if (error.code() != tracer::ErrorCode::kNotARecording) throw;
    }
  }
  words.asked = given.back();
  words.files.pop_back();
  return words;
}

}  // namespace tracerd
