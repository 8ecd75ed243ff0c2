// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// What one code of findings says, and from where on.
struct FindingRule {
  std::string code;
  std::string severity;  ///< "error", "warning" or "note": where nothing makes it less.
  std::string text;      ///< {name} stands for what is known by that name: a piece of evidence, "tool", "task" …
  std::string advice;
  std::map<std::string, std::string> advice_for;  ///< By engine, in place of `advice`.
  std::map<std::string, std::uint64_t> limits;    ///< Its thresholds, by names with units.
};

/// An example that the rules carry, so that they test themselves.
struct FindingExample {
  std::string code;
  std::string tool;
  bool normal = false;  ///< Whether this tool does by nature what the code calls wrong.
};

/// Likewise, so that they test themselves.
struct TryingExample {
  std::string name;
  bool tries = false;
};

/// When a finding is made, and what it says, by rules/findings.toml. Immutable after parse(), so any thread may ask.
class FindingRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static FindingRules parse(std::string_view toml, std::string_view origin);
  /// The rules that are built into the library; parsed once.
  static const FindingRules& builtin();

  /// Null: no such code.
  const FindingRule* rule_of(std::string_view code) const noexcept;
  /// 0: there is no such code, or it has no such threshold.
  std::uint64_t limit(std::string_view code, std::string_view name) const noexcept;
  /// This tool does by nature what the code calls wrong: nothing is said of it.
  bool is_normal(std::string_view code, std::string_view tool) const;
  /// What fails below this tool is part of its work, such as the trials of a configure script: no more than a note.
  /// `name`: of the tool, or how it was called: "make check".
  bool tries(std::string_view name) const;
  const std::vector<FindingRule>& rules() const noexcept { return rules_; }
  const std::vector<FindingExample>& examples() const noexcept { return examples_; }
  const std::vector<TryingExample>& trying_examples() const noexcept { return trying_examples_; }

 private:
  friend class FindingRulesReader;

  struct Normal {
    std::vector<std::string> codes;
    std::vector<std::string> tools;  ///< Globs.
  };

  std::vector<FindingRule> rules_;
  std::vector<Normal> normal_;
  std::vector<std::string> trying_;  ///< Globs.
  std::vector<FindingExample> examples_;
  std::vector<TryingExample> trying_examples_;
};

}  // namespace tracer::internal
