// SPDX-License-Identifier: Apache-2.0
/// Finds runs and tasks of workflow engines, by rules/engines.toml. That file explains what a rule can say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/error.hpp>
#include <tracer/process.hpp>

#include "rules/pattern.hpp"

namespace tracer::internal {

class ToolRules;

/// What a rule begins with the process that it matches.
enum class Begins : std::uint8_t {
  kNothing,
  kRun,
  kTask,
  kPlace,  ///< Neither: somewhere that has labels, such as a pod.
};

/// Whether a process does the engine's own work.
enum class EngineOwn : std::uint8_t {
  kInherited,  ///< As the process that it comes from, where that was kTree.
  kSelf,       ///< It does, until it executes something else.
  kTree,       ///< It does, and so do its descendants.
  kWork,       ///< It does not, nor do its descendants.
};

/// A field or label that a rule gives.
struct GivenField {
  std::string field;  ///< As in Context; of a label, its name.
  bool is_label = false;
  std::vector<Template> texts;  ///< The first of which all was captured counts.
  Provenance provenance = Provenance::kEngineRule;
};

/// The file in which an engine has noted a name, and the lines that are looked for.
struct NoteFile {
  Template path;  ///< "*" in its last part: the file whose name sorts last.
  /// A line that matches one begins a block, and the lines that follow belong to it. Empty: there are no blocks.
  std::vector<Pattern> begins = {};
  /// Of a block: each of these texts, which stand between commas, must be in `in_text`, or the block is not meant.
  std::optional<Template> listed = {};
  std::optional<Template> in_text = {};
  std::vector<Pattern> lines = {};  ///< What the first line that matches one captures counts.
  std::size_t most_lines = 64;      ///< No line behind these is looked at.
  bool last = false;                ///< The last line that matches counts.
  /// Of blocks: by which their ends, and those without a name, are told apart.
  std::optional<Template> id = {};
  std::optional<Template> inputs = {};  ///< As `listed`; what is in the text as well makes it clearer.
  std::vector<Pattern> nameless = {};   ///< A line that matches is a block of which only the id is known.
  std::vector<Pattern> ends = {};       ///< A line that matches says that the block with this id is over.
  std::vector<Pattern> counts = {};     ///< A line that matches captures how many blocks follow, as "number".
};

/// Takes a name from the one recipe, in the files of the run, that has this text.
struct RecipeName {
  Template text;
  std::string as;
};

/// A captured text that is taken apart by the first pattern that matches.
struct Split {
  Template text;
  std::vector<Pattern> patterns;
};

/// "a=1,b=2": each pair is a label.
struct LabelPairs {
  Template text;
  std::string between = ",";
  Provenance provenance = Provenance::kEngineRule;
};

struct EngineRule {
  std::string name;            ///< "nextflow.task".
  std::string engine;          ///< "nextflow".
  std::string condition = {};  ///< What follows, as the file has it.
  bool left_out = false;       ///< It has a mistake; others still refer to its place.
  // Conditions; what is empty always holds.
  std::vector<std::string> exe = {};       ///< Globs for the file name of the executable.
  std::vector<std::string> tool = {};      ///< Globs for the name by rules/tools.toml.
  std::vector<std::string> tool_not = {};  ///< Globs that this must not match.
  bool unknown_tool = false;               ///< rules/tools.toml has no rule for it.
  std::vector<WordsPattern> argv = {};
  std::vector<Pattern> cwd = {};
  std::vector<Pattern> cgroup = {};
  std::vector<std::size_t> parent = {};   ///< Rules, one of which the process's parent matches.
  std::vector<std::size_t> within = {};   ///< Rules, one of which began a run or task that the process is in.
  std::vector<std::size_t> outside = {};  ///< Rules, none of which did.
  /// The process is in a run, and in no task but those that rules with in_run have begun.
  bool in_run = false;
  // Effects.
  Begins begins = Begins::kNothing;
  EngineOwn own = EngineOwn::kInherited;
  bool elsewhere = false;  ///< What it starts runs elsewhere: what was announced of its folder is not about it.
  bool again = false;      ///< When it has failed, the next that matches is the task's next attempt.
  bool carried = false;    ///< A task of the same engine that this one begins in is the same task, or one beside it.
  bool tries = false;      ///< The engine begins one before each attempt, in the process that makes all of them.
  std::optional<Template> key =
      {};  ///< Processes with the same key are of the same task. Absent: one for each process.
  std::vector<GivenField> gives = {};
  std::vector<LabelPairs> pairs = {};
  std::optional<NoteFile> notes = {};
  std::vector<Template> recipes = {};  ///< Of a run: its Snakefile; one that captures is the only one if it is filled.
  std::optional<RecipeName> recipe = {};
  std::vector<Split> splits = {};
  std::optional<Template> serves = {};  ///< Of a run: tasks elsewhere with the same served_by are in it.
  std::optional<Template> served_by = {};

  /// It has no condition but the cgroup's path.
  bool of_cgroup_alone() const noexcept;
  /// It holds only for what an engine has started, or in a run.
  bool needs_place() const noexcept { return in_run || !parent.empty() || !within.empty(); }
};

/// What is known of a process when it is compared with rules.
struct EngineSubject {
  const Program* program = nullptr;  ///< Never null.
  std::optional<std::string_view> cgroup = {};
  std::optional<std::size_t> parent = {};    ///< The rule that its parent matches.
  std::span<const std::size_t> within = {};  ///< The rules that began the runs and tasks that it is in.
  bool in_run = false;
  const ToolRules* tools = nullptr;  ///< That have named the program; null: it is not known which tools they name.

  bool has_place() const noexcept { return in_run || parent || !within.empty(); }
};

/// Immutable after parse(): any number of threads may use it.
class EngineRules {
 public:
  EngineRules() = default;
  /// Throws Error(kInvalidRules) that names origin, line and mistake, for all mistakes at once. With `skipped` only
  /// where it is no TOML: rules with mistakes are left out, and their mistakes are added there.
  static EngineRules parse(std::string_view toml, std::string_view origin, std::vector<Problem>* skipped = nullptr);
  /// The rules that are built in (rules/engines.toml); parsed once.
  static const EngineRules& builtin();
  /// Those of `file` in front of the built-in ones. Throws Error(kFileUnreadable), otherwise as parse().
  static EngineRules load(const std::filesystem::path& file, std::vector<Problem>* skipped = nullptr);

  const std::vector<EngineRule>& rules() const noexcept { return rules_; }

  /// The rules whose conditions on the program itself hold, and what these have captured. For each program once; those
  /// that need a place only where some process that runs it has one.
  using Candidates = std::vector<std::pair<std::size_t, Captures>>;
  Candidates candidates(const Program& program, bool has_place = true) const;

  struct Match {
    std::size_t rule = 0;
    Captures captures;
  };
  /// The first rule in the order of the file that matches as a whole; `candidates` are those of subject.program.
  std::optional<Match> match(const EngineSubject& subject, const Candidates& candidates) const;
  /// The first rule about cgroups alone that matches. Such a rule holds for all processes in the cgroup, whatever they
  /// run; match() leaves it out.
  std::optional<Match> match_cgroup(std::string_view path) const;

 private:
  friend class EngineRulesReader;
  std::vector<EngineRule> rules_;
};

}  // namespace tracer::internal
