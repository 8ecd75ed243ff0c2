// SPDX-License-Identifier: Apache-2.0
/// The fields of a Context that sources say something of, each with the place of its provenance.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/context.hpp>

namespace tracer::internal {

struct ContextField {
  std::string_view name;
  std::optional<std::string> Context::*value;
  std::optional<Provenance> ContextProvenance::*provenance;
  bool of_task;  ///< Says which task it is: another task does not inherit it.
};

/// All that are texts; `attempt` and `labels` are not.
inline constexpr std::array<ContextField, 8> kContextFields = {{
    {"pipeline", &Context::pipeline, &ContextProvenance::pipeline, false},
    {"run", &Context::run, &ContextProvenance::run, false},
    {"step", &Context::step, &ContextProvenance::step, true},
    {"task", &Context::task, &ContextProvenance::task, true},
    {"task_id", &Context::task_id, &ContextProvenance::task_id, true},
    {"sample", &Context::sample, &ContextProvenance::sample, false},
    {"engine", &Context::engine, &ContextProvenance::engine, false},
    {"run_id", &Context::run_id, &ContextProvenance::run_id, false},
}};

}  // namespace tracer::internal
