// SPDX-License-Identifier: Apache-2.0
/// Names the tool that a process runs: "samtools sort" rather than "java" or "python3.11".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tracer::internal {

/// Immutable after parse(), so any number of threads may call name().
class ToolRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static ToolRules parse(std::string_view toml, std::string_view origin);
  /// Throws Error(kFileUnreadable) with errno when the file can't be read, otherwise as parse().
  static ToolRules load(const std::filesystem::path& file);
  /// The rules that are built into the library (rules/tools.toml); parsed once.
  static const ToolRules& builtin();

  /// Never empty. Hostile argv is fine: linear time, no throw but bad_alloc.
  std::string name(std::string_view exe, std::span<const std::string> argv, std::string_view comm) const;

  /// True: by exiting with this status, the tool that name() has named answers a question. It has not failed.
  bool is_answer(std::string_view tool, int status) const;

  /// How many [[tool]] and [[launcher]] entries there are.
  std::size_t rule_count() const noexcept { return rules_.size(); }

 private:
  friend class ToolRulesReader;
  using Arguments = std::span<const std::string>;

  /// What the first word that is no option means.
  enum class Positional : std::uint8_t { kNone, kScript, kClass, kProgram };

  struct Rule {
    std::string name;
    bool as_called = false;  ///< The name shown is that of the executable.
    bool any_subcommand = false;
    std::vector<std::string> subcommands;
    std::vector<std::string> subcommand_options;
    std::vector<std::string> value_options;
    std::vector<int> answers;
    std::map<std::string, std::vector<int>, std::less<>> subcommand_answers;
    // The rest is for launchers only.
    bool launcher = false;
    bool clusters = false;
    bool multicall = false;
    Positional positional = Positional::kNone;
    std::vector<std::string> attached_options;
    std::vector<std::string> code_options;
    std::vector<std::string> file_options;
    std::vector<std::string> jar_options;
    std::vector<std::string> module_options;
    std::vector<std::string> stop_options;  ///< No program follows, as it comes from the standard input.
  };

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };

  /// Exact names first, as a hash lookup is quick; globs in the order of the file afterwards.
  struct Index {
    std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> exact;
    std::vector<std::pair<std::string, std::size_t>> globs;
    std::optional<std::size_t> find(std::string_view text) const;
  };

  /// What a launcher runs; `kind` tells which names it is looked up among.
  enum class Kind : std::uint8_t { kProgram, kJar, kClass, kModule };

  std::string resolve(Kind kind, std::string_view what, Arguments rest, int depth) const;
  std::string launch(const Rule& rule, std::string_view shown, Arguments rest, int depth) const;
  std::string with_subcommand(const Rule& rule, std::string_view shown, Arguments rest) const;
  /// The rule's own name, or what the file is called.
  static std::string_view shown_name(const Rule& rule, std::string_view called);

  std::vector<Rule> rules_;
  Index programs_, jars_, classes_, modules_;
};

}  // namespace tracer::internal
