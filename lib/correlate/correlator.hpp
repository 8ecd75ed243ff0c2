// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/families.hpp>
#include <tracer/filter.hpp>

#include "context/context_resolver.hpp"
#include "context/open_labels.hpp"
#include "context/proven_owners.hpp"
#include "context/task_facts.hpp"
#include "correlate/account.hpp"
#include "correlate/device_samples.hpp"
#include "correlate/host_samples.hpp"
#include "correlate/joins/family_join.hpp"
#include "correlate/process_table.hpp"
#include "correlate/sample_table.hpp"
#include "rules/secrets/secret_rules.hpp"
#include "rules/tool_rules.hpp"
#include "source/host_questions.hpp"
#include "source/records.hpp"
#include "source/track_as.hpp"

namespace tracer::internal {

/// A process as an earlier process of the service knew it.
struct LeftProcess {
  std::shared_ptr<const Process> process;
  std::uint32_t context_id = 0;
  std::uint64_t program_start_ns = 0;
  std::uint64_t attached_ns = 0;
};

/// Turns the records of processes, which ProcessTable knows, into the events of their runs and tasks. One thread at a
/// time, but for the counters.
class Correlator {
 public:
  struct Rules {
    std::shared_ptr<const internal::ToolRules> tools;      ///< Never null.
    std::shared_ptr<const internal::SecretRules> secrets;  ///< Never null.
    std::shared_ptr<const internal::EngineRules> engines;  ///< Never null.
    ContextResolver::AskNotes ask_notes = {};              ///< Empty: engines' own files are not read.
    bool mask_secrets = true;
    std::size_t most_announcements = 1u << 17;
    std::uint32_t command_pid = 0;  ///< See SessionOptions::command_pid.
    KeyOrigin key_origin = {};
    std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>();  ///< That tables are charged to. Never null.
    /// The labels of a context id that set_context() has not said; null: not known. Empty: there are no others.
    ProcessTable::FindContext find_context = {};
  };
  enum class Folding { kNone, kOfMany };  ///< Whether many processes of one tool are reported as one aggregate.

  /// `host`: outlives it; null: nobody answers.
  Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, HostQuestions* host = nullptr);

  void use(UserIds user_ids) { resolver_.use(std::move(user_ids)); }
  /// Notes there from now on for which users root's processes work.
  void use(std::shared_ptr<ProvenOwners> owners) { proven_owners_ = std::move(owners); }
  /// The labels behind a context id of the records. Id 0 stands for "nobody said anything" and has none.
  void set_context(std::uint32_t id, std::shared_ptr<const Context> context) {
    processes_.set_context(id, std::move(context));
  }
  /// Appends the events that follow from `record`.
  void on_record(const Record& record, std::vector<Event>& events);

  /// From any thread.
  AnnouncementShares& announcement_shares() noexcept { return resolver_.announcement_shares(); }
  /// From now on, and of what lives already; its cost was taken of the shares. False: there are too many.
  bool announce(Announced announced, std::uint64_t now_ns) { return resolver_.announce(std::move(announced), now_ns); }
  void remove_announcement(const AnnouncementName& name) { resolver_.announcements().remove(name); }
  void expire_announcements(std::uint64_t now_ns) { resolver_.announcements().expire(now_ns); }
  const Announcements& announcements() const noexcept { return resolver_.announcements(); }

  /// A label of a thread, which is one of several perhaps: while one of them is open, what has these labels may begin
  /// at any time, and no task of them is finished.
  void label_opened(const std::shared_ptr<const Context>& labels) { open_labels_.open(labels); }
  /// All records are read that are older than its end.
  void label_ended(const std::shared_ptr<const Context>& labels, std::uint64_t time_ns, std::vector<Event>& events);
  /// Of the process `pid`, with what `labels` label; null: in none of their tasks. Nothing comes of it where it is not
  /// followed.
  void own_work(const std::shared_ptr<const Context>& labels, pid_t pid, OwnWork work, std::vector<Event>& events);
  /// Of all labels.
  void end_labels(std::uint64_t time_ns, std::vector<Event>& events);

  /// What families have collected of processes that live on; nothing more comes of the source. False: as `events` are
  /// `most` or more by now, there may be more.
  bool end(std::uint64_t time_ns, std::vector<Event>& events,
           std::size_t most = std::numeric_limits<std::size_t>::max());

  /// Forgets what came since the last snapshot, as when processes are taken in.
  void begin_snapshot();
  /// All events of the snapshot that was begun, SnapshotEnd included; the rates of later ones are those since this.
  void end_snapshot(std::uint64_t time_ns, Folding folding, std::vector<Event>& events);
  /// Samples of what came since begin_snapshot(), beside the regular snapshots.
  std::vector<ProcessSample> take_samples();

  /// At the last snapshot, memory had grown since the one before, or something had just begun: what is held now may not
  /// be held for long.
  bool memory_moves() const noexcept { return memory_moves_; }
  /// Between the last two snapshots the host rested: none of what is followed is in a run or task, ended, or computed
  /// for more than a twentieth of one CPU in all, and memory did not move.
  bool at_rest() const noexcept { return at_rest_; }

  /// A RunStart, TaskStart and ProcessStart of all that lives and was reported, outer ones and parents first.
  std::vector<Event> living() const;

  /// From now on nothing is seen of what the family brings: what it would say is absent.
  void stop(Family family, std::uint64_t time_ns, std::vector<Event>& events);

  /// Goes on with what an earlier process followed, parents first, as if its records had come: what it consumed as a
  /// whole will be known; its present program's part, its ledgers and the sums of the tasks that it is in will not.
  void take_over(const std::vector<LeftProcess>& left, std::vector<Event>& events);

  /// A process that is followed already, and is more than its records say.
  void add_command(std::uint32_t pid, TrackAs as);

  std::uint64_t secrets_masked() const noexcept { return programs_.secrets_masked(); }
  /// Processes that were forgotten since too many seemed alive: only after lost exits.
  std::uint64_t forgotten() const noexcept { return processes_.forgotten(); }
  /// Cgroups whose path was forgotten and could not be found again.
  std::uint64_t cgroups_forgotten() const noexcept { return cgroups_.forgotten(); }

 private:
  void on(const StartRecord& record, std::vector<Event>& events);
  void on(const ExecRecord& record, std::vector<Event>& events);
  void on(const ExitRecord& record, std::vector<Event>& events);
  void on(const CgroupRecord& record, std::vector<Event>& events);
  void on(const ThreadRecord& record, std::vector<Event>& events);
  void on(const FileRecord& record, std::vector<Event>& events);
  void on(const TextRecord& record, std::vector<Event>& events);
  void on(const CgroupMemoryRecord& record, std::vector<Event>& events);
  void on(const EventRecord& record, std::vector<Event>& events);
  void on(const FileUseRecord& record, std::vector<Event>& events);
  void on(const ConnectionRecord& record, std::vector<Event>& events);
  void on(const SyscallUseRecord& record, std::vector<Event>& events);
  void on(const CgroupEndRecord& record, std::vector<Event>& events);
  void on(const DeviceRecord& record, std::vector<Event>& events);
  void on(const DiskWaitsRecord& record, std::vector<Event>& events);
  void on(const GpuRecord& record, std::vector<Event>& events);
  void on(const HostRecord& record, std::vector<Event>& events);

  TrackedProcess& process_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns,
                             std::vector<Event>& events);
  TrackedProcess& add_process(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns,
                              std::vector<Event>& events);
  bool end(FamilyJoin& join, std::uint64_t time_ns, std::vector<Event>& events, std::size_t most);
  void finish_over(const OpenLabels::Scopes& scopes, std::uint64_t time_ns, std::vector<Event>& events);
  void leave_scopes(TrackedProcess& tracked, std::uint64_t time_ns, std::vector<Event>& events);
  /// `ends`: what its engine has written by now is read before.
  void refresh_context(TrackedProcess& tracked, std::uint32_t context_id, bool ends = false);
  /// What has changed of runs and tasks; before any process is moved between them.
  void add_changes(std::uint64_t time_ns, std::vector<Event>& events);
  void announce(TrackedProcess& tracked, std::vector<Event>& events);
  void forget_unseen(Account& account, bool ledger_known = true) const noexcept;
  static void taken_in_again(TrackedProcess& tracked);
  void note_owner(TrackedProcess& tracked);
  void note_growth(const std::vector<ProcessSample>& samples);
  void note_rest(const std::vector<ProcessSample>& samples, std::uint64_t time_ns);

  Rules rules_;
  ContextResolver resolver_;
  OpenLabels open_labels_;
  std::shared_ptr<ProvenOwners> proven_owners_;  ///< Null: nobody asks.
  TaskFacts facts_;
  CgroupTable cgroups_;
  ProgramTable programs_;
  ProcessTable processes_;
  SampleTable samples_;
  std::vector<CgroupMemoryRecord> cgroup_memory_;   ///< Of the snapshot that is being taken.
  DeviceSamples devices_;                           ///< Likewise.
  HostSamples host_;                                ///< Likewise.
  std::vector<ContextChange> relabeled_;            ///< Processes, since changes were reported.
  std::vector<std::unique_ptr<FamilyJoin>> joins_;  ///< Of the families that are active.
  bool ledgers_ = true;
  bool memory_moves_ = true;
  bool at_rest_ = false;
  std::uint64_t resident_bytes_ = 0;  ///< At the last snapshot, of all.
  std::uint64_t cpu_ns_ = 0;          ///< Likewise.
  std::uint64_t snapshot_ns_ = 0;     ///< When that was.
};

}  // namespace tracer::internal
