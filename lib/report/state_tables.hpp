// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include <tracer/event.hpp>
#include <tracer/state.hpp>

#include "base/accounts.hpp"

namespace tracer::internal {

/// The rows of what lives and has ended: runs, steps, tasks, findings, counts; and, of a run or task that is asked for,
/// its processes, files and peers. Kept as events come, so that a look costs what has changed. Any thread.
class StateTables {
 public:
  /// `session_id`: that of the session, so that nobody goes on with what another said.
  explicit StateTables(std::string session_id, std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>());
  ~StateTables();

  /// `owner`: who may see it. Absent: only who sees all. The rows of each owner are sums of what that owner may see.
  void add(const Event& event, const std::optional<uid_t>& owner = std::nullopt);
  /// One JSON object of at most 1 MiB. `viewer`: who asks; absent: one who sees all. Throws Error(kInvalidArgument): no
  /// such row or field, or a key that is none.
  std::string json(const StateQuery& query, const std::optional<uid_t>& viewer = std::nullopt) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer::internal
