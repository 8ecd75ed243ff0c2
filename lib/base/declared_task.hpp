// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <tracer/context.hpp>

namespace tracer::internal {

/// It starts jobs that are tasks by inference only.
inline bool is_launcher(std::string_view engine) {
  constexpr std::array<std::string_view, 6> kLaunchers = {"make", "ninja", "parallel", "xargs", "find", "shell"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), engine) != kLaunchers.end();
}

/// It runs jobs, whose numbers are what people know them by.
inline bool is_scheduler(std::string_view engine) {
  constexpr std::array<std::string_view, 4> kSchedulers = {"slurm", "pbs", "lsf", "sge"};
  return std::find(kSchedulers.begin(), kSchedulers.end(), engine) != kSchedulers.end();
}

/// A task that an engine or its author declares, and not the command of a recipe or launcher that is one by inference.
inline bool is_declared_task(const Context& context) {
  return context.task_key && !(context.engine && is_launcher(*context.engine));
}

}  // namespace tracer::internal
