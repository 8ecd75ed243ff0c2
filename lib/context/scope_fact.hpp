// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context/layers.hpp"
#include "context/scope.hpp"

namespace tracer::internal {

/// Whether a scope is reported as a run or a task: by the rule that began it, or by what is said of it.
enum class Fact { kNone, kRun, kTask };

inline Fact fact_of(const Scope& scope) noexcept {
  switch (scope.begins) {
    case Begins::kRun: return Fact::kRun;
    case Begins::kTask: return Fact::kTask;
    case Begins::kPlace: return Fact::kNone;
    case Begins::kNothing: break;
  }
  return is_task(scope.said) ? Fact::kTask : is_run(scope.said) ? Fact::kRun : Fact::kNone;
}

}  // namespace tracer::internal
