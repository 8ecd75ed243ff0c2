// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/recording.hpp>
#include <tracer/state.hpp>

#include "base/accounts.hpp"

namespace tracer::internal {

/// The rows of what lives and has ended: runs, steps, tasks, findings, counts; and, of a run or task that is asked for,
/// its processes, files and peers. Kept as events come, so that a look costs what has changed. Any thread.
class StateTables {
 public:
  /// That one reply has.
  static constexpr std::size_t kMostFindings = 4096;
  static constexpr std::size_t kMostBytesOfFindings = 2u << 20;

  /// `id`: of these tables alone, so that nobody goes on with what others said.
  /// `of_recording`: files and peers are kept of all runs and tasks, not only of those that were asked for before.
  /// `most_bytes_over`: for rows of runs and tasks that are over, and half as much for findings; who holds most
  /// loses the oldest.
  explicit StateTables(std::string id, const std::shared_ptr<Accounts>& accounts = std::make_shared<Accounts>(),
                       bool of_recording = false, std::size_t most_bytes_over = 128u << 20);
  ~StateTables();

  /// `owner`: who may see it. Absent: only who sees all; a SnapshotEnd, a SessionEnd and a Loss are everybody's then.
  /// The rows of each owner are sums of what that owner may see. `as_seen`: how the owner sees it; null: as it is.
  void add(const Event& event, const std::optional<uid_t>& owner = std::nullopt, const Event* as_seen = nullptr);
  /// Of the recording, as far as it was read.
  void set_damage(const RecordingDamage& damage);
  /// From now on, add() calls `take` where a failure began, as of whom.
  using TakeFailure = std::function<void(const Process&, const std::optional<uid_t>& owner)>;
  void take_failures(TakeFailure take);
  /// One JSON object of at most 1 MiB, of what these owners may see; absent: of all. Throws Error(kInvalidArgument): no
  /// such row or field, or a key that is none.
  std::string json(const StateQuery& query, const std::optional<std::vector<uid_t>>& owners = std::nullopt) const;

  /// Likewise, the last state of the findings since then: the newest that fit into one reply, the oldest of them first.
  std::vector<Finding> findings(std::uint64_t since_ns, const std::optional<std::vector<uid_t>>& owners) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer::internal
