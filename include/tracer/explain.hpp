// SPDX-License-Identifier: Apache-2.0
/// Explains a context: which rule, label or announcement gave each field.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/export.hpp>
#include <tracer/process.hpp>

namespace tracer {

/// How one field of a context is known.
struct ContextReason {
  std::string field;  ///< "step", "attempt"; for a label "label.NAME".
  std::string value;
  std::optional<Provenance> provenance = {};  ///< Absent: no source gave it; run_id and within follow from the rest.
  std::string rule = {};                      ///< In rules/engines.toml, or in your own file. Empty: not a rule.
  std::string condition = {};                 ///< The condition of that rule, as in its file.
  bool overruled = false;                     ///< A stronger source gave another value.
};

/// Any thread. It uses the present rules: for a context recorded with others, a rule may be missing. Throws Error:
/// kInvalidRules, kFileUnreadable.
TRACER_EXPORT std::vector<ContextReason> explain(const Context& context,
                                                 const std::filesystem::path& engine_rules = {});
/// The same for many contexts; the result is in the same order.
TRACER_EXPORT std::vector<std::vector<ContextReason>> explain(const std::vector<Context>& contexts,
                                                              const std::filesystem::path& engine_rules = {});

/// Like the options of a session: see SessionOptions.
struct ResolveOptions {
  std::filesystem::path engine_rules = {};  ///< Comes before the built-in rules/engines.toml; empty: built-in only.
  std::filesystem::path tool_rules = {};    ///< Replaces the built-in rules/tools.toml; empty: built-in.
  std::filesystem::path secret_rules = {};  ///< Replaces rules/secrets.toml in the same way.
  bool mask_secrets = true;                 ///< In arguments.
  bool read_engine_notes = true;
};

/// Resolves a living process with the rules, from it and its ancestors only: without a session, and therefore without
/// labels and announcements, and without the attempt where that is counted. Its context is never null. Any thread;
/// reads /proc. Throws Error: kFilterNamesNothing (the process does not exist), and the errors of explain().
TRACER_EXPORT Process resolve_process(pid_t pid, const ResolveOptions& options = {});

}  // namespace tracer
