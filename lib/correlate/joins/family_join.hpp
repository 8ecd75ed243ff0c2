// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/families.hpp>

#include "base/accounts.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// What a family says of processes: in the events of others, or in its own, which it makes of several records. Used
/// while the family is active.
class FamilyJoin {
 public:
  virtual ~FamilyJoin() = default;
  virtual Family family() const noexcept = 0;
  /// Of a process that is reported.
  virtual void add(const FileUseRecord&, const Process&) {}
  virtual void add(const ConnectionRecord&, const Process&) {}
  virtual void add(const SyscallUseRecord&, const Process&) {}
  virtual void add(const DiskWaitsRecord&, const Process&) {}
  virtual void add(const CgroupEndRecord&, std::vector<Event>&) {}
  /// The process was just reported. `process`: as it is now; never null.
  virtual void at_start(std::uint64_t, const std::shared_ptr<const Process>&, std::vector<Event>&) {}
  /// `exec` is complete, but for what other families say. `before`: the process with the program that ended; null: what
  /// that did is none of the workload. Its own events come before it.
  virtual void at_exec(const ExecRecord&, const std::shared_ptr<const Process>&, ProcessExec&, std::vector<Event>&) {}
  virtual void at_sample(ProcessSample&) {}
  /// `exit` is complete, its process included, but for what other families say. Its own events come before it.
  virtual void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) = 0;
  /// The process lives on as the session ends. `process`: as it is now; never null.
  virtual void at_end(std::uint64_t, const std::shared_ptr<const Process>&, std::vector<Event>&) {}
  /// Another family brings nothing any more, of what this one may say.
  virtual void without(Family) {}
  /// It is not followed any more.
  virtual void forget(std::uint32_t, std::uint64_t) {}
};

/// Of all families that have one. `accounts`: that their tables are charged to.
std::vector<std::unique_ptr<FamilyJoin>> family_joins(const std::shared_ptr<Accounts>& accounts);

}  // namespace tracer::internal
