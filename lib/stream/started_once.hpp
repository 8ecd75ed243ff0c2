// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <tracer/event.hpp>

#include "base/process_id.hpp"

namespace tracer::internal {

/// What lives, by its starts and ends: a recording that is cut begins each of its files with what lives.
class StartedOnce {
 public:
  /// The kind has a start or an end.
  static bool follows(EventKind kind) noexcept;
  /// False: it starts what has started, and not ended since.
  bool take(const Event& event);
  bool lives(const ProcessId& id) const { return processes_.contains(id); }

 private:
  bool starts(const std::optional<Key>& key, const ProcessId& leader);
  void ends(const std::optional<Key>& key, const ProcessId& leader);
  bool submits(const TaskSubmit& submit);
  void rename(const ContextChange& change);

  std::unordered_set<ProcessId, ProcessIdHash> processes_;
  std::unordered_multimap<std::uint64_t, ProcessId> scopes_;  ///< The leaders of runs and tasks, by their keys.
  std::unordered_map<std::uint64_t, std::string> submitted_;  ///< State and time that was told last, likewise.
};

}  // namespace tracer::internal
