// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// What patterns have captured, by name.
using Captures = std::map<std::string, std::string, std::less<>>;

/// A text with wildcards and captures, which matches a whole text:
///   *             any run of characters, the shortest first
///   ?             one character
///   {name}        one or more characters other than '/', the shortest that fits
///   {name:class}  of a class: "digits", "number" (digits without a 0 in front), "hex", "word" (letters, digits, and
///                 _ . -), "token" (letters, digits, and _), "path" (no white space, quotes or ; & | < > ( )), "plain"
///                 (does not begin with '-'), "any"; "hex8": exactly 8 of them
///   \             the next character itself
/// Matching takes at most the pattern's length times the text's. Immutable.
class Pattern {
 public:
  static constexpr std::size_t kMostText = 8192;  ///< A longer text matches nothing.

  /// Throws std::invalid_argument that says what is wrong.
  explicit Pattern(std::string_view text);

  /// True: it matches, and the captures were added. A name that was captured before must have captured the same.
  bool matches(std::string_view text, Captures& captures) const;
  /// Takes what it does from `steps`. False, too, if these are too few.
  bool matches(std::string_view text, Captures& captures, std::size_t& steps) const;
  /// False: it does not match. Costs next to nothing, and tells so of most texts.
  bool may_match(std::string_view text) const noexcept;

  /// The names that it captures.
  std::vector<std::string> names() const;
  /// There is a character in it that a text must have.
  bool says_something() const noexcept;

 private:
  enum class Class : std::uint8_t {
    kCharacter,
    kAnyOne,
    kSegment,
    kDigits,
    kNumber,
    kHex,
    kWord,
    kToken,
    kPath,
    kPlain,
    kAny
  };
  /// One or more characters of a class.
  struct Part {
    Class matches = Class::kCharacter;
    char character = 0;
    std::size_t least = 1;
    std::size_t most = 1;
    std::string name = {};  ///< Empty: not captured.
  };
  class Match;

  static bool fits(const Part& part, char c, bool first) noexcept;
  void add_capture(std::string_view inside);
  void find_needle();

  std::vector<Part> parts_;
  std::string needle_;  ///< Its longest run of characters, which a text must have somewhere.
};

/// Patterns for the words of an argument vector, all of them in their order; "..." stands for any number of words.
class WordsPattern {
 public:
  /// Beyond so many, which take milliseconds, words match nothing: users write both the words and some patterns.
  static constexpr std::size_t kMostSteps = 4u << 20;

  /// Throws std::invalid_argument.
  explicit WordsPattern(const std::vector<std::string>& words);

  bool matches(const std::vector<std::string>& words, Captures& captures) const;
  std::vector<std::string> names() const;
  bool says_something() const noexcept;

 private:
  struct Element {
    bool any_words = false;
    std::vector<Pattern> pattern = {};  ///< One, unless any_words.
  };
  std::vector<Element> elements_;
};

/// A text with captures to be filled in: "{step} ({tag})".
class Template {
 public:
  /// Throws std::invalid_argument.
  explicit Template(std::string_view text);

  /// Empty where one of the names has captured nothing.
  std::string fill(const Captures& captures) const;
  std::vector<std::string> names() const;

 private:
  struct Piece {
    bool is_name = false;
    std::string text = {};
  };
  std::vector<Piece> pieces_;
};

}  // namespace tracer::internal
