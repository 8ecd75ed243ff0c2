// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <tracer/explain.hpp>

#include "commands/commands.hpp"
#include "commands/explanation.hpp"

namespace tracerd {
namespace {

/// Of a task that a session would count the attempts of.
std::string missing_attempt(const tracer::Context& context) {
  const bool is_counted = context.task && context.provenance.task >= tracer::Provenance::kEngineRule;
  return is_counted && !context.attempt ? "  attempt    not known: a session that sees the earlier ones counts them\n"
                                        : "";
}

}  // namespace

int explain_command(const Options& options) {
  const std::filesystem::path rules = options.engine_rules.value_or("");
  const tracer::Process process =
      tracer::resolve_process(*options.pid, {.engine_rules = rules,
                                             .secret_rules = options.secret_rules.value_or(""),
                                             .read_engine_notes = options.read_engine_notes});
  fmt::print("{}\n{}{}", subject_of(process), explanation_of(tracer::explain(*process.context, rules), options.verbose),
             missing_attempt(*process.context));
  return 0;
}

}  // namespace tracerd
