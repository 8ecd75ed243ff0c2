// SPDX-License-Identifier: Apache-2.0
/// Why a context is as it is: which rule, label or announcement has said which field.
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
  std::string field;  ///< "step", "attempt"; of a label "label.NAME".
  std::string value;
  std::optional<Provenance> provenance = {};  ///< Absent: nobody has said it; run_id and within follow from the rest.
  std::string rule = {};                      ///< Of rules/engines.toml, or of your own file. Empty: it was no rule.
  std::string condition = {};                 ///< What that rule asks for, as its file has it.
  bool overruled = false;                     ///< Something stronger has said otherwise.
};

/// Any thread. The rules are those of now: of a context that was recorded with others, a rule may be missing. Throws
/// Error: kInvalidRules, kFileUnreadable.
TRACER_EXPORT std::vector<ContextReason> explain(const Context& context,
                                                 const std::filesystem::path& engine_rules = {});
/// Likewise for many, which are in the same order.
TRACER_EXPORT std::vector<std::vector<ContextReason>> explain(const std::vector<Context>& contexts,
                                                              const std::filesystem::path& engine_rules = {});

/// As of a session: see SessionOptions.
struct ResolveOptions {
  std::filesystem::path engine_rules = {};  ///< In front of the built-in rules/engines.toml; empty: built-in only.
  std::filesystem::path tool_rules = {};    ///< Instead of the built-in rules/tools.toml; empty: built-in.
  std::filesystem::path secret_rules = {};  ///< Likewise, rules/secrets.toml.
  bool mask_secrets = true;                 ///< In arguments.
  bool read_engine_notes = true;
};

/// What the rules find of a process that lives, from it and its ancestors alone: no session is asked, and what was
/// labeled or announced in one is not known. Its context is never null. Any thread; reads /proc. Throws Error:
/// kFilterNamesNothing (it is not there), and as explain().
TRACER_EXPORT Process resolve_process(pid_t pid, const ResolveOptions& options = {});

}  // namespace tracer
