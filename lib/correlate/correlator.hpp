// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/filter.hpp>

#include "correlate/cgroup_table.hpp"
#include "correlate/filter_evaluator.hpp"
#include "correlate/sample_table.hpp"
#include "rules/secret_rules.hpp"
#include "rules/tool_rules.hpp"
#include "correlate/account.hpp"
#include "source/records.hpp"

namespace tracer {

/// Turns records into events: joins them to processes, names tools and containers, masks secrets, decides the part of
/// the filter that the kernel can't. One thread at a time.
class Correlator {
 public:
  struct Rules {
    internal::ToolRules tools;
    internal::SecretRules secrets;
    bool mask_secrets = true;
  };
  enum class Folding { kNone, kOfMany };  ///< Whether many processes of one tool are told together.
  using Emit = std::function<void(Event)>;
  Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, Emit emit,
             SampleTable::ReadPss read_pss = {});

  /// The labels behind a context id of the records.
  void set_context(std::uint32_t id, Context context);
  void on_record(Record record);
  /// Forgets what came since the last snapshot, as when processes are taken in.
  void begin_snapshot() {
    (void)samples_.set_aside();
    cgroup_memory_.clear();
  }
  /// Samples of what lives, beside the snapshots: `sample` has a source yield the records. May be called while a
  /// snapshot is being taken.
  std::vector<ProcessSample> sample_now(const std::function<void()>& sample);
  /// Forms all events of the snapshot that was begun; the rates of later ones are those since this.
  std::vector<Event> take_snapshot(std::uint64_t time_ns, Folding folding);
  /// From now on waits are not seen, so that ledgers would be wrong: they are absent.
  void stop_ledgers() { ledgers_ = false; }
  std::uint64_t secrets_masked() const noexcept { return secrets_masked_; }
  /// Processes that were forgotten since too many seemed alive: only after lost exits.
  std::uint64_t forgotten() const noexcept { return forgotten_; }

 private:
  struct Entry {
    std::shared_ptr<const Process> process;
    Selection selection = Selection::kSelected;
    std::optional<std::uint64_t> attached_ns;
    std::uint64_t program_start_ns = 0;
    ProgramBase program_base;      ///< The process's sums when its program began.
    bool base_cpu_known = true;    ///< False: CPU time in it may be short by up to a tick.
    bool threads_pending = false;  ///< Threads of the program before were still ending then: its share is not exact.
    bool announced = false;        ///< Its ProcessStart was emitted.
    std::uint64_t started_ns = 0;
  };

  void on(StartRecord record);
  void on(ExecRecord record);
  void on(ExitRecord record);
  void on(CgroupRecord record);
  void on(ThreadRecord record);
  void on(FileRecord record);
  void on(TextRecord record);
  void on(CgroupMemoryRecord record);

  Entry& entry_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns);
  void fill(Process& process, const RecordIdentity& identity) const;
  static bool moved(const Process& process, const RecordIdentity& identity);
  void set_cgroup(Process& process, const RecordIdentity& identity) const;
  std::shared_ptr<Process> updated(const Process& process, const RecordIdentity& identity) const;
  void set_text(Process& process, ProgramText text);
  static bool same_program(const Entry& entry, std::uint64_t program_start_ns);
  void announce(Entry& entry);

  Rules rules_;
  FilterEvaluator filter_;
  std::size_t max_processes_;
  Emit emit_;
  std::vector<Event> pending_;  ///< Of the record at hand: a callback may have the next one come.
  std::map<std::uint32_t, Context> contexts_;
  CgroupTable cgroups_;
  std::unordered_map<std::uint32_t, Entry> processes_;   ///< By pid; the start time tells whether it is still the same.
  std::unordered_map<std::uint32_t, TextRecord> texts_;  ///< Of processes that are about to be taken in.
  SampleTable samples_;
  std::vector<CgroupMemoryRecord> cgroup_memory_;  ///< Of the snapshot that is being taken.
  int asking_ = 0;                                 ///< How many sample_now() are under way, one within the other.
  std::vector<std::uint32_t> ended_meanwhile_;     ///< Within them.
  bool ledgers_ = true;
  std::uint64_t secrets_masked_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace tracer
