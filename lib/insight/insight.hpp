// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "insight/disk_findings.hpp"
#include "insight/failure_findings.hpp"
#include "insight/finding_book.hpp"
#include "insight/full_file_systems.hpp"
#include "insight/idle_findings.hpp"
#include "insight/not_normal.hpp"
#include "insight/pipe_findings.hpp"
#include "insight/process_slowness.hpp"
#include "insight/queue_findings.hpp"
#include "insight/slowness_findings.hpp"
#include "insight/stall_findings.hpp"
#include "insight/task_ledgers.hpp"
#include "source/proc/ready_cpus.hpp"
#include "source/proc/served_mount.hpp"
#include "state/book.hpp"
#include "state/process_spans.hpp"

namespace tracer::internal {

/// Completes events of tasks and runs with what follows from others, and makes findings. The same for events that come
/// live and for those of a recording. One thread at a time.
class Insight {
 public:
  /// Of a host with so many CPUs. `accounts`: that tables are charged to; never null. `counts` outlives this; null: the
  /// bounds of ledgers are by what processes did.
  explicit Insight(std::uint32_t cpus, ScopeCounts* counts = nullptr,
                   std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>(),
                   const FindingRules& rules = FindingRules::builtin());
  Insight(const Insight&) = delete;
  Insight& operator=(const Insight&) = delete;

  /// Before the first event: compares with earlier runs, and adds this one. `wall_offset_ns`: as in HostInfo.
  void use(std::unique_ptr<SessionHistory> history, std::uint64_t wall_offset_ns);
  /// Before the first event: whose subordinate user ids are whose.
  void use(UserIds user_ids) { findings_.use(std::move(user_ids)); }
  /// Before the first event, and before a history is used: of what happens on this host now.
  void ask_this_host(FullFileSystems::ReadSpace read_space = file_system_space,
                     FullFileSystems::Look look = look_at_file_systems,
                     StallFindings::ReadMount read_mount = awaited_mount,
                     SlownessFindings::ReadCpus read_cpus = cpus_of_ready_threads) {
    get<FullFileSystems>().ask(std::move(read_space), std::move(look));
    get<StallFindings>().ask(std::move(read_mount));
    get<SlownessFindings>().ask(std::move(read_cpus));
    on_this_host_ = true;
  }
  /// Appends `event`, and the findings that follow from it: before it if it is the last.
  void add(Event event, std::vector<Event>& events);

 private:
  /// In this order each event goes to them.
  using Detectors = std::tuple<FailureFindings, FullFileSystems, SlownessFindings, ProcessSlowness, DiskFindings,
                               IdleFindings, PipeFindings, StallFindings, QueueFindings>;

  template <class D>
  D& get() {
    return std::get<D>(detectors_);
  }
  template <class Finish>
  void finished(Finish finish, std::vector<Event>& events);
  void began(const RunStart& start);
  void began(const TaskStart& start);
  void began(const std::shared_ptr<const Process>& process, std::uint64_t time_ns);
  void lived(const ProcessSpan& span, std::vector<Event>& events);
  void ended(const ProcessExit& exit, std::vector<Event>& events);
  void snapshot(const SnapshotEnd& end, std::vector<Event>& events);
  void changed(const ContextChange& change, std::vector<Event>& events);
  void end(const SessionEnd& end, std::vector<Event>& events);

  Book book_;
  FindingBook findings_;
  TaskLedgers ledgers_;
  ProcessSpans spans_;
  Detectors detectors_;
  bool on_this_host_ = false;
  std::unique_ptr<NotNormal> not_normal_;  ///< Null: without a history.
  std::vector<Detector*> all_;             ///< These, and those of `detectors_`.
};

}  // namespace tracer::internal
