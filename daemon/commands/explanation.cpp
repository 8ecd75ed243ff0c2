// SPDX-License-Identifier: Apache-2.0
#include "commands/explanation.hpp"

#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "show/printable.hpp"

namespace tracerd {
using tracer::internal::printable;
namespace {

constexpr std::size_t kMostTool = 60;
constexpr std::size_t kWidth = 48;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::string source_of(const tracer::ContextReason& reason, bool with_conditions) {
  if (!reason.provenance) return "follows from the process that began it";
  std::string text(to_string(*reason.provenance));
  if (!reason.rule.empty()) text += ", " + reason.rule;
  if (!reason.rule.empty() && with_conditions) text += ": " + reason.condition;
  return text;
}

}  // namespace

std::string subject_of(const tracer::Process& process) {
  return fmt::format("pid {}  {}{}", process.pid, printable(process.program->tool.value_or("?"), kMostTool),
                     process.context->engine_own ? ": the engine's own work" : "");
}

std::string explanation_of(const std::vector<tracer::ContextReason>& reasons, bool with_conditions) {
  if (reasons.empty()) return "  no run and no task: no rule, label or announcement matches it\n";
  std::string text;
  for (const tracer::ContextReason& reason : reasons)
    text += fmt::format("  {:<10} {:<{}}  {}{}\n", printable(reason.field, 40), printable(reason.value, kWidth), kWidth,
                        reason.overruled ? "overruled: " : "", printable(source_of(reason, with_conditions), kMost));
  return text;
}

}  // namespace tracerd
