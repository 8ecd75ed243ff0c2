// SPDX-License-Identifier: Apache-2.0
/// Names the tool that a process runs: "samtools sort" rather than "java" or "python3.11". rules/tools.toml explains
/// what a rule can say.
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
#include <unordered_set>
#include <utility>
#include <vector>

#include "rules/pattern.hpp"

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

  /// True: a rule has named it; other names are those of files.
  bool knows(std::string_view tool) const;

  /// True: what name() has said stands for any worker of a pool, whose program says nothing of what it works on. The
  /// name of the process that began the pool says more.
  bool is_worker(std::string_view tool) const { return workers_by_name_.contains(tool); }
  /// True: a shell that runs no script, so that its name says nothing: "bash", "sh -c".
  bool is_bare_shell(std::string_view tool) const { return shells_.contains(tool); }

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
    bool assignments = false;    ///< Words such as A=b in front of the program are none.
    bool waits = false;          ///< It goes on beside the program, and is named with it: "timeout sort".
    bool repeats_argv0 = false;  ///< The program's own argv[0] may stand behind its path.
    std::size_t leading = 0;     ///< Words in front of the program.
    Positional positional = Positional::kNone;
    std::vector<std::string> runs;           ///< The program stands behind one of these words.
    std::vector<std::string> split_options;  ///< The value is the program with its arguments.
    std::vector<std::string> attached_options;
    std::vector<std::string> code_options;
    std::vector<std::string> file_options;
    std::vector<std::string> jar_options;
    std::vector<std::string> module_options;
    std::vector<std::string> stop_options;  ///< No program follows, as it comes from the standard input.
  };

  /// A file whose name says less, or changes more, than what it is.
  struct Rename {
    std::vector<Pattern> paths;
    Template name;
    std::optional<std::string> executed = {};  ///< The name where no launcher runs it; absent: as `name`.
  };

  /// The program text, module or option that a launcher runs a worker by.
  struct Worker {
    std::string name;
    std::vector<std::string> launchers;
    std::vector<std::string> code;
    std::vector<std::string> modules;
    std::vector<std::string> options;
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

  /// Of a file that is executed, or that the launcher runs.
  std::string renamed(std::string_view path, std::string_view launcher) const;
  const Worker* worker_of(std::string_view launcher, std::vector<std::string> Worker::*by, std::string_view text) const;
  std::string resolve(Kind kind, std::string_view what, Arguments rest, std::string_view launcher, int depth) const;
  std::string launch(const Rule& rule, std::string_view shown, Arguments rest, int depth) const;
  std::string launch_program(const Rule& rule, std::string_view shown, Arguments rest, int depth) const;
  std::string with_subcommand(const Rule& rule, std::string_view shown, Arguments rest) const;
  /// The rule's own name, or what the file is called.
  static std::string_view shown_name(const Rule& rule, std::string_view called);

  std::vector<Rule> rules_;
  Index programs_, jars_, classes_, modules_;
  std::vector<Rename> renames_;
  std::vector<Worker> workers_;
  std::unordered_set<std::string, Hash, std::equal_to<>> workers_by_name_;
  std::unordered_set<std::string, Hash, std::equal_to<>> shells_;
  std::unordered_set<std::string, Hash, std::equal_to<>> shown_;  ///< Names of tools that are not shown as called.
};

}  // namespace tracer::internal
