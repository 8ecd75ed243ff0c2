// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// A word of a text in Python's syntax.
struct PythonWord {
  enum class Kind { kLine, kName, kString, kSign };

  Kind kind = Kind::kSign;
  std::size_t indent = 0;  ///< kLine: of the line that begins; lines inside of brackets begin none.
  std::string text = {};   ///< kName; kString: its value; kSign: one character.
  bool known = true;       ///< kString: false for one whose value is not in the text, as an f-string's.
};

/// Comments are left out. Linear; a text that is no Python gives some words.
std::vector<PythonWord> python_words(std::string_view text);

}  // namespace tracer::internal
