// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// A text with gaps, which stand for any text: "sort {input} > {output}".
struct GappedText {
  std::vector<std::string> pieces = {""};  ///< One more than gaps.

  /// The texts between gaps in their order, from the first character to the last.
  bool matches(std::string_view text) const noexcept;
};

/// What a Snakefile's text says of the commands of its rules, as far as it says so in plain strings. It is read, never
/// executed.
struct Snakefile {
  enum class Kind { kCommand, kScript };
  struct Rule {
    std::string name;
    Kind kind = Kind::kCommand;
    std::optional<GappedText> text = {};  ///< The command, or the name of the script's file. Absent: not known.
  };

  std::vector<Rule> rules = {};            ///< Those that have a command or a script.
  std::vector<std::string> includes = {};  ///< Files with more rules, from the folder of this one.
  std::optional<std::string> prefix = {};  ///< In front of each command; absent: Snakemake's own.
  bool understood = true;                  ///< False: it may have rules that are not in `rules`.

  /// Linear in the text, which may be anything.
  static Snakefile parse(std::string_view text);
};

/// The one rule whose command or script a shell executes by `command`, the whole text behind its -c. Absent: there is
/// none, or there are several, or `files` may have more rules than were understood.
std::optional<std::string> rule_that_runs(std::span<const Snakefile> files, std::string_view command);

}  // namespace tracer::internal
