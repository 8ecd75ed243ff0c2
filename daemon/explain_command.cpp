// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <tracer/explain.hpp>

#include "commands.hpp"
#include "explanation.hpp"

namespace tracerd {

int explain_command(const Options& options) {
  const std::filesystem::path rules = options.engine_rules.value_or("");
  const tracer::Process process =
      tracer::resolve_process(*options.pid, {.engine_rules = rules,
                                             .secret_rules = options.secret_rules.value_or(""),
                                             .read_engine_notes = options.read_engine_notes});
  fmt::print("{}\n{}", subject_of(process), explanation_of(tracer::explain(*process.context, rules)));
  return 0;
}

}  // namespace tracerd
