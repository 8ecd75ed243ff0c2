// SPDX-License-Identifier: Apache-2.0
/// Where a process belongs: in which run, step and task of which pipeline, and how that is known.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/export.hpp>
#include <tracer/key.hpp>

namespace tracer {

/// How a field of a Context is known, the weakest first: a stronger one wins, and between equals the later one.
enum class Provenance : std::uint8_t {
  kInferred = 1,    ///< Derived from something that may mean something else.
  kCgroup = 2,      ///< The path of the process's cgroup.
  kEngineRule = 3,  ///< rules/engines.toml: what the engine itself has written into arguments, paths or its own files.
  kLabel = 4,       ///< Session::track(), a filter, or Session::label_thread(): the process's ancestor was labeled.
  kAnnounced = 5,   ///< Session::announce().
};

/// "inferred", "cgroup", "engine rule", "label", "announced". Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(Provenance provenance) noexcept;

/// A name and a value that a pipeline uses for its own purposes, such as a wildcard.
struct Label {
  std::string name;
  std::string value;

  auto operator<=>(const Label&) const = default;
};

/// A value that a stronger source has overruled.
struct Overruled {
  std::string field;  ///< "sample", "task" …
  std::string value;
  Provenance provenance = Provenance::kInferred;

  auto operator<=>(const Overruled&) const = default;
};

/// How each field of a Context is known; absent where the field is.
struct ContextProvenance {
  std::optional<Provenance> pipeline = {};
  std::optional<Provenance> run = {};
  std::optional<Provenance> step = {};
  std::optional<Provenance> task = {};
  std::optional<Provenance> task_id = {};
  std::optional<Provenance> attempt = {};
  std::optional<Provenance> sample = {};
  std::optional<Provenance> engine = {};
  std::optional<Provenance> labels = {};  ///< That of the weakest label.
  std::optional<Provenance> run_id = {};  ///< kInferred: made from the run's first process.

  auto operator<=>(const ContextProvenance&) const = default;
};

/// Inherited from parent to child. A field is absent if no source has given it.
struct Context {
  std::optional<std::string> pipeline = {};  ///< The executed pipeline: "nf-core/rnaseq", "main.nf", "Snakefile".
  std::optional<std::string> run = {};       ///< One execution of it: "happy_curie", "r42".
  std::optional<std::string> step = {};      ///< A Nextflow process, a Snakemake rule, a CWL step.
  std::optional<std::string> sample = {};
  std::optional<std::string> task = {};       ///< One execution of a step, by the engine's own name: "ALIGN (S1)".
  std::optional<std::string> task_id = {};    ///< Its hash or job id: unique within its run. A task always has one.
  std::optional<std::uint32_t> attempt = {};  ///< From 1.
  std::optional<std::string> engine = {};     ///< The engine of the task, or of the run: "nextflow", "slurm", "make".
  std::optional<std::string> run_id = {};  ///< The engine's own, or unique on this host where it has none. Runs without
                                           ///< a rule or announcement have none.
  std::optional<std::string> within = {};  ///< For a run inside a task of another: that "run_id/task_id".
  bool engine_own = false;         ///< The engine's own work, such as a wrapper or a poller; not a tool of the task.
  std::vector<Label> labels = {};  ///< By name, each once.
  ContextProvenance provenance = {};
  std::vector<Overruled> overruled = {};  ///< Values of weaker sources for the fields above, the strongest first.
  std::vector<std::string> rules = {};    ///< Those of rules/engines.toml that gave something, outermost first.
  /// The session makes it from the fields above; ignored in a context that a caller passes. If a key changes because
  /// more becomes known, ContextChange::before has the old one.
  std::optional<Key> run_key = {};
  std::optional<Key> task_key = {};  ///< Different for each attempt.
  /// Whose the run or task is: who announced or labeled it by a service; else the owner of the run or task around it;
  /// else the real user id of its first process; in a service, of a subordinate id its user. The session sets it.
  std::optional<std::uint32_t> owner_uid = {};
  /// Bytes of labels that were left out, as they exceed 4 KiB together. Absent: none. The session sets it.
  std::optional<std::uint32_t> labels_cut_bytes = {};

  auto operator<=>(const Context&) const = default;
};

}  // namespace tracer
