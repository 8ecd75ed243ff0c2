// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "context/scope.hpp"
#include "correlate/process_table.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// What the host used between two snapshots that have its figures, and which part of it belonged to runs and tasks.
class HostSamples {
 public:
  /// A process that is reported; `scope`: where it lived, null: in no run or task.
  void ended(const ProcessExit& exit, const Scope* scope);
  void add(const HostRecord& record) { now_ = record; }
  /// Forgets what was added.
  void clear() noexcept { now_.reset(); }
  /// Of the snapshot with these samples. The first one says where the sums begin.
  void take(const std::vector<ProcessSample>& samples, ProcessTable& processes, std::vector<Event>& events);

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  /// Since the last snapshot; absent: not known.
  std::optional<std::uint64_t> cpu_since(const Process& process, std::optional<std::uint64_t> cpu_ns) const;

  std::optional<HostRecord> before_;     ///< Absent: the sums have not begun.
  std::optional<HostRecord> now_;        ///< Of the snapshot that is being taken.
  std::map<Key, std::uint64_t> cpu_ns_;  ///< Of what lived at the last snapshot.
  std::uint64_t ended_ns_ = 0;           ///< By processes of runs and tasks that ended since.
  bool ended_known_ = true;
};

}  // namespace tracer::internal
