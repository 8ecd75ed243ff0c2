// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <tracer/event.hpp>

#include "context/context_resolver.hpp"
#include "context/open_labels.hpp"
#include "state/failure_chains.hpp"

namespace tracer::internal {

/// Makes RunStart, TaskStart, TaskFinish and RunFinish of the processes that come to scopes and leave them.
class TaskFacts {
 public:
  TaskFacts(ContextResolver& resolver, OpenLabels& open_labels);

  /// It began, or executed a program: of all processes that are followed, as failures are decided by parents.
  void saw(const std::shared_ptr<const Process>& process) { chains_.saw(process); }
  /// The process, which began at `begin_ns`, is in the scope of `place` from now on; `entered` is where it was, and
  /// then where it is.
  void move(std::shared_ptr<Scope>& entered, const ContextPlace& place, const Process& process, std::uint64_t begin_ns,
            std::uint64_t time_ns, std::vector<Event>& events);
  /// An exec has ended this program of a process that is in `entered`.
  void executed(const std::shared_ptr<Scope>& entered, const Process& process, const ProgramAccount& ended);
  /// It is not followed any more, or its end was lost: what becomes of it is not known.
  void forget(std::shared_ptr<Scope>& entered, const Process& process, std::uint64_t time_ns,
              std::vector<Event>& events);
  /// Scopes were put into others: what is in them counts there, too.
  void absorb(const std::vector<ScopeMove>& moves, std::uint64_t time_ns, std::vector<Event>& events);
  /// It has ended, in the scope of `place`.
  void leave(std::shared_ptr<Scope>& entered, const ContextPlace& place, const ProcessExit& exit,
             std::vector<Event>& events);

  /// The session's own process has done this in the scope, and is itself in `entered`. Where it is the first in a task,
  /// the task began with this work, and is over with it.
  void add_own_work(const std::shared_ptr<Scope>& scope, const std::shared_ptr<Scope>& entered, const OwnWork& work,
                    std::vector<Event>& events);

  /// Where nothing lives in it, and nothing labels what begins with it.
  void finish_if_over(Scope& scope, std::uint64_t time_ns, std::vector<Event>& events);

  /// Of the scopes around what lives there, the outermost first, those that were not told yet: their starts.
  void add_starts(const std::shared_ptr<Scope>& entered, std::set<const Scope*>& told,
                  std::vector<Event>& events) const;

  /// The accounts of the scopes around what lives there are not whole: their sums are not known any more.
  static void doubt(const std::shared_ptr<Scope>& entered);

  /// A snapshot: what its living processes hold.
  void add(const std::shared_ptr<Scope>& entered, const ProcessSample& sample);
  void end_round();

 private:
  void begin(Scope& scope, std::uint64_t time_ns, std::vector<Event>& events);
  void count(const FailureOrigin& failure) const;
  void finish_last_attempt(const Scope& first, std::uint64_t time_ns, std::vector<Event>& events);
  void add_start(Scope& scope, std::vector<Event>& events) const;
  std::shared_ptr<const Context> context_of(Scope& scope) const;

  ContextResolver& resolver_;
  OpenLabels& open_labels_;
  FailureChains chains_;
  std::vector<std::shared_ptr<Scope>> sampled_;  ///< In this round.
};

}  // namespace tracer::internal
