// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>

#include "state/counted_tasks.hpp"

namespace tracer::internal {

/// Whether runs have succeeded, and what has become of their tasks that count. Bounded: by Summary::kMostTasks; from
/// there on nothing is said of tasks.
class Verdicts {
 public:
  void add(const TaskFinish& finish);
  void add(const TaskSubmit& submit);
  void add(const RunFinish& finish);
  /// "main.nf succeeded (status 0) in 32.0 s: 11 tasks, 9 ok, 1 retried and then ok, 1 ignored; something failed
  /// unnoticed in 1". Empty: no run has ended.
  std::string text(const std::vector<Finding>& findings) const;
  /// A later attempt of this task, of the same name, has succeeded.
  bool succeeded_later(const Context& task) const;

 private:
  enum class End : std::uint8_t { kOk, kFailed, kUnknown, kRunning, kQueued, kElsewhere, kCached, kAborted, kExpired };
  /// All attempts of one.
  struct Task {
    End last = End::kUnknown;
    std::uint32_t attempt = 0;  ///< The number of the last.
    bool has_failed = false;
    bool here = false;  ///< It has started, as far as is known.
  };
  struct Run {
    std::string name;
    std::uint64_t wall_ns = 0;
    std::optional<std::int32_t> exit_code;
    std::optional<std::int32_t> exit_signal;
  };
  struct Tasks {
    std::map<std::uint64_t, Task> by_name = {};  ///< By attempts_hash().
    CountedTasks counted = {};
  };

  static End end_of(const TaskSubmit& submit);
  /// Null: there is no room for it.
  Task* task_of(const Context& context);
  void put_tasks(std::string& out, bool all_succeeded) const;

  std::map<Key, Tasks> tasks_;  ///< By their run; a key of 0: of none.
  std::map<Key, Run> runs_;
  std::map<Key, bool> ended_well_;  ///< Runs and tasks.
  std::size_t count_ = 0;           ///< Of tasks.
};

}  // namespace tracer::internal
