// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/families.hpp>
#include <tracer/filter.hpp>

#include "base/counter.hpp"
#include "context/context_resolver.hpp"
#include "context/open_labels.hpp"
#include "context/task_facts.hpp"
#include "correlate/account.hpp"
#include "correlate/cgroup_table.hpp"
#include "correlate/filter_evaluator.hpp"
#include "correlate/joins/family_join.hpp"
#include "correlate/program_cache.hpp"
#include "correlate/sample_table.hpp"
#include "rules/secret_rules.hpp"
#include "rules/tool_rules.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Turns records into events: joins them to processes, names tools and containers, masks secrets, decides the part of
/// the filter that the kernel can't. One thread at a time, but for the counters.
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
    /// The labels of a context id that set_context() has not said; null: not known. Empty: there are no others.
    std::function<std::shared_ptr<const Context>(std::uint32_t id)> find_context = {};
  };
  enum class Folding { kNone, kOfMany };  ///< Whether many processes of one tool are reported as one aggregate.

  Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, SampleTable::ReadPss read_pss = {},
             CgroupTable::FindPath find_path = {});

  /// The labels behind a context id of the records. Id 0 stands for "nobody said anything" and has none.
  void set_context(std::uint32_t id, std::shared_ptr<const Context> context);
  /// Appends the events that follow from `record`.
  void on_record(const Record& record, std::vector<Event>& events);

  /// From now on, and of what lives already. False: there are too many.
  bool announce(Announced announced, std::uint64_t now_ns) { return resolver_.announce(std::move(announced), now_ns); }
  void expire_announcements(std::uint64_t now_ns) { resolver_.announcements().expire(now_ns); }
  const Announcements& announcements() const noexcept { return resolver_.announcements(); }

  /// A label of a thread, which is one of several perhaps: while one of them is open, what has these labels may begin
  /// at any time, and no task of them is finished.
  void label_opened(const std::shared_ptr<const Context>& labels) { open_labels_.open(labels); }
  /// All records are read that are older than its end.
  void label_ended(const std::shared_ptr<const Context>& labels, std::uint64_t time_ns, std::vector<Event>& events);
  /// Of this process, with what `labels` label; null: in none of their tasks. Nothing comes of it where it is not
  /// followed.
  void own_work(const std::shared_ptr<const Context>& labels, OwnWork work, std::vector<Event>& events);
  /// Of all labels.
  void end_labels(std::uint64_t time_ns, std::vector<Event>& events);

  /// Forgets what came since the last snapshot, as when processes are taken in.
  void begin_snapshot();
  /// All events of the snapshot that was begun, SnapshotEnd included; the rates of later ones are those since this.
  void end_snapshot(std::uint64_t time_ns, Folding folding, std::vector<Event>& events);
  /// Samples of what came since begin_snapshot(), beside the regular snapshots.
  std::vector<ProcessSample> take_samples();

  /// At the last snapshot, memory had grown since the one before, or something had just begun: what is held now may not
  /// be held for long.
  bool memory_moves() const noexcept { return memory_moves_; }

  /// A RunStart, TaskStart and ProcessStart of all that lives and was reported, outer ones and parents first.
  std::vector<Event> living() const;

  /// From now on nothing is seen of what the family brings: what it would say is absent.
  void stop(Family family);

  std::uint64_t secrets_masked() const noexcept { return secrets_masked_.value(); }
  /// Processes that were forgotten since too many seemed alive: only after lost exits.
  std::uint64_t forgotten() const noexcept { return forgotten_.value(); }
  /// Cgroups whose path was forgotten and could not be found again.
  std::uint64_t cgroups_forgotten() const noexcept { return cgroups_.forgotten(); }

 private:
  struct Entry {
    std::shared_ptr<const Process> process;
    Selection selection = Selection::kSelected;
    std::uint32_t context_id = 0;  ///< The kernel's, as of the last record.
    ContextPlace place;
    std::shared_ptr<Scope> entered;  ///< Where it counts as living; null: nowhere.
    std::optional<std::uint64_t> attached_ns;
    std::uint64_t program_start_ns = 0;
    ProcessSums program_base;      ///< The process's sums when its program began.
    bool base_cpu_known = true;    ///< False: CPU time in it may be short by up to a tick.
    bool threads_pending = false;  ///< Threads of the program before were still ending then: its share is not exact.
    bool announced = false;        ///< Its ProcessStart was emitted.
    bool held = false;             ///< It waits, as a copy of this process, for its command to be executed.
    ProcessSums not_its_own;       ///< What it had consumed while it was held.
    std::uint64_t started_ns = 0;
    std::uint64_t begin_ns = 0;               ///< When it began to do anything of its own.
    bool peak_in_doubt = false;               ///< Its program has pages that may be mapped several times.
    std::optional<std::uint64_t> seen_bytes;  ///< The most that its program held at a snapshot, each page once.
  };

  void on(const StartRecord& record, std::vector<Event>& events);
  void on(const ExecRecord& record, std::vector<Event>& events);
  void on(const ExitRecord& record, std::vector<Event>& events);
  void on(const CgroupRecord& record, std::vector<Event>& events);
  void on(const ThreadRecord& record, std::vector<Event>& events);
  void on(const FileRecord& record, std::vector<Event>& events);
  void on(const TextRecord& record, std::vector<Event>& events);
  void on(const CgroupMemoryRecord& record, std::vector<Event>& events);
  void on(const EventRecord& record, std::vector<Event>& events);

  Entry& entry_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns, std::vector<Event>& events);
  void finish_over(const OpenLabels::Scopes& scopes, std::uint64_t time_ns, std::vector<Event>& events);
  void leave_scopes(Entry& entry, std::uint64_t time_ns, std::vector<Event>& events);
  Entry made_from(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns);
  void relabel(Entry& entry, std::uint32_t context_id);
  void refresh_context(Entry& entry, std::uint32_t context_id);
  /// What has changed of runs and tasks; before any process is moved between them.
  void add_changes(std::uint64_t time_ns, std::vector<Event>& events);
  std::shared_ptr<const Context> labels_of(std::uint32_t context_id);
  void decide(Entry& entry, Process& process);
  void fill(Process& process, const RecordIdentity& identity);
  std::shared_ptr<const Program> program_of(const ProgramText& text, const std::string& comm);
  static bool same_program(const Entry& entry, std::uint64_t program_start_ns);
  void announce(Entry& entry, std::vector<Event>& events);
  static void note_memory(Entry& entry, const ProcessSample& sample);
  static bool begins(Entry& entry, const ExecRecord& record);
  void forget_unseen(Account& account) const noexcept;
  void note_growth(const std::vector<ProcessSample>& samples);

  Rules rules_;
  FilterEvaluator filter_;
  std::size_t max_processes_;
  std::vector<std::shared_ptr<const Context>> contexts_;  ///< By id; null: not registered.
  ContextResolver resolver_;
  OpenLabels open_labels_;
  TaskFacts facts_;
  CgroupTable cgroups_;
  ProgramCache programs_;
  std::unordered_map<std::uint32_t, Entry> processes_;   ///< By pid; the start time tells whether it is still the same.
  std::unordered_map<std::uint32_t, TextRecord> texts_;  ///< Of processes that are about to be taken in.
  SampleTable samples_;
  std::vector<CgroupMemoryRecord> cgroup_memory_;         ///< Of the snapshot that is being taken.
  std::vector<ContextChange> relabeled_;                  ///< Processes, since changes were reported.
  std::vector<std::unique_ptr<const FamilyJoin>> joins_;  ///< Of the families that are active.
  bool ledgers_ = true;
  bool memory_moves_ = true;
  std::uint64_t resident_bytes_ = 0;  ///< At the last snapshot, of all.
  Counter secrets_masked_;
  Counter forgotten_;
};

}  // namespace tracer::internal
