// SPDX-License-Identifier: Apache-2.0
/// The present state of what is traced, for views that ask for it again and again.
#pragma once

#include <string>
#include <vector>

namespace tracer {

/// Which part of the state is wanted.
struct StateQuery {
  /// `since` of an earlier reply: only rows that have changed are wanted. Empty, unknown, or of another session: all.
  std::string since = {};
  /// Of "runs", "steps", "tasks", "findings", "counts". Empty: all of these.
  std::vector<std::string> rows = {};
  /// A run_key or task_key: with the processes, files and peers of that run or task. Empty: of none.
  std::string key = {};
  /// Columns of runs, steps and tasks, by their names in docs/state.md, such as "name" and "cpu_ns"; `id` is always
  /// there. Empty: all.
  std::vector<std::string> fields = {};
};

}  // namespace tracer
