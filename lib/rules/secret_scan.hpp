// SPDX-License-Identifier: Apache-2.0
/// Secrets that a command line's words give away: options, variables, what follows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rules/secret_finder.hpp"

namespace tracer::internal {

/// Masks one argv, word by word: finds the ranges that are secret in each, then replaces them.
class SecretScan : private SecretFinder {
 public:
  using SecretFinder::SecretFinder;

  /// Masks the next word of argv in place; returns how many secrets it had.
  std::size_t word(std::string& text);

 private:
  struct Command {
    bool started = false;
    bool wrapped = false;
    bool shell = false;
    std::uint64_t programs = 0;  ///< Rules whose program has been seen.
    std::uint64_t active = 0;    ///< Those of them whose subcommand has been seen as well.
  };

  void value(std::size_t begin, std::size_t end, std::string_view after);

  /// Where a shell ends the value that begins at `begin`; `open` is the quote around all of it, or 0.
  void shell_value(std::size_t begin, char open, std::string_view after);

  void set_value(std::size_t begin, std::size_t end, bool whole, char open, std::string_view after);
  void expect(std::string_view after) {
    pending_ = true;
    pending_after_ = after;
  }

  /// Looks at one word of a command: options, NAME=value, and which program it is.
  void token(Command& command, std::size_t begin, std::size_t end, bool whole, char open = 0);

  template <class Visit>
  void for_each_option(std::uint64_t set, Visit visit) {
    for (std::size_t i = 0; set != 0; ++i, set >>= 1U) {
      if ((set & 1U) != 0) visit(rules_.options_[i], std::uint64_t{1} << i);
    }
  }
  void program_option(const Command& command, std::string_view name, bool assigns, std::size_t begin, std::size_t end,
                      bool whole, char open);
  void joined_option(const Command& command, std::string_view word, std::size_t begin, std::size_t end, bool whole,
                     char open);

  /// Cuts the text into words as a shell might; a cut may have lost one of a pair of quotes, so they cut like spaces.
  void walk();
  bool is_and(std::size_t at) const { return text_.substr(at, 2) == "&&"; }

  Command outer_;
  bool pending_ = false;
  std::string_view pending_after_;
  bool script_next_ = false;
};

}  // namespace tracer::internal
