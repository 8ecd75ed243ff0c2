// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/process.hpp>

#include "base/counter.hpp"
#include "context/context_place.hpp"
#include "context/context_resolver.hpp"
#include "correlate/account.hpp"
#include "correlate/cgroup_table.hpp"
#include "correlate/filter_evaluator.hpp"
#include "correlate/program_table.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// One process that the source follows, with what its records don't say again.
struct TrackedProcess {
  std::shared_ptr<const Process> process;  ///< Never null.
  Selection selection = Selection::kSelected;
  std::uint32_t context_id = 0;  ///< The kernel's, as of the last record.
  ContextPlace place;
  std::shared_ptr<Scope> entered;  ///< Where it counts as living; null: nowhere.
  std::optional<std::uint64_t> attached_ns;
  std::uint64_t program_start_ns = 0;
  ProcessSums program_base;      ///< The process's sums when its program began.
  bool base_known = true;        ///< False: an earlier process of the service saw it begin, and has kept no sums.
  bool ledger_known = true;      ///< Likewise: what it waited for is known in part, or for a time that nobody knows.
  bool base_cpu_known = true;    ///< False: CPU time in it may be short by up to a tick.
  bool begin_in_doubt = false;   ///< How its program or, if it was held, all of it began was seen late.
  bool threads_pending = false;  ///< Threads of the program before were still ending then: its share is not exact.
  bool announced = false;        ///< Its ProcessStart was emitted.
  bool owner_noted = false;      ///< In ProvenOwners.
  bool held = false;             ///< It waits, as a copy of this process, for its command to be executed.
  ProcessSums not_its_own;       ///< What it had consumed while it was held.
  std::uint64_t started_ns = 0;
  std::uint64_t begin_ns = 0;               ///< When it began to do anything of its own.
  bool peak_in_doubt = false;               ///< Its program has pages that may be mapped several times.
  bool has_huge_pages = false;              ///< Which the kernel's mark of its peak does not count.
  std::optional<std::uint64_t> seen_bytes;  ///< The most that its program held at a snapshot, each page once.

  /// False: the exec that began this program was lost, and what is known is of an earlier one.
  bool runs_program(std::uint64_t start_ns) const noexcept { return program_start_ns == start_ns; }
  /// Read calls up to the last exec, without what is not its own. Absent: that exec was not seen, or not all of it.
  std::optional<std::uint64_t> calls_before_exec(std::uint64_t read_before_exec_bytes) const noexcept;
  /// What a snapshot says of its program's memory, as far as it can be said of one process.
  void note_memory(const ProcessSample& sample);
  /// True: it was held until this exec, and what it did before is nobody's work.
  bool begins(const ExecRecord& record);
};

/// The processes that are followed: what each runs, in which cgroup and under which labels, and whether the filter
/// takes it. One thread at a time, but for the counters.
class ProcessTable {
 public:
  /// The labels of a context id that set_context() has not said; null: not known. Empty: there are no others.
  using FindContext = std::function<std::shared_ptr<const Context>(std::uint32_t id)>;

  /// `programs`, `resolver` and `cgroups` outlive it.
  ProcessTable(ProgramTable& programs, ContextResolver& resolver, CgroupTable& cgroups, FilterEvaluator filter,
               FindContext find_context, std::size_t capacity);

  /// The labels behind a context id of the records. Id 0 stands for "nobody said anything" and has none.
  void set_context(std::uint32_t id, std::shared_ptr<const Context> context);
  const FilterEvaluator& filter() const noexcept { return filter_; }

  /// Null: it is not there. The latest with this pid.
  TrackedProcess* find(std::uint32_t pid);
  /// Null: it is not there, or the pid is another's by now.
  TrackedProcess* find(std::uint32_t pid, std::uint64_t start_ns);
  /// Made from what the record says; takes the place of an older one with its pid.
  TrackedProcess& add(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns);
  void erase(std::uint32_t pid) { processes_.erase(pid); }
  bool full() const noexcept { return processes_.size() >= capacity_; }
  /// Too many seem alive, since exits were lost.
  void forget_all();
  std::unordered_map<std::uint32_t, TrackedProcess>& all() noexcept { return processes_; }
  const std::unordered_map<std::uint32_t, TrackedProcess>& all() const noexcept { return processes_; }

  /// The words of a process that is about to be taken in.
  void keep_text(const TextRecord& record);

  /// What a record says of the process itself.
  void fill(Process& process, const RecordIdentity& identity);
  /// It executes, or is named anew.
  std::shared_ptr<const Program> program_of(const TrackedProcess& tracked, const ProgramText& text,
                                            const std::string& comm);
  /// Decides the user space part of the filter; a rule that takes the process in may label it.
  void decide(TrackedProcess& tracked, Process& process);
  /// The kernel follows it under other labels than before.
  void relabel(TrackedProcess& tracked, std::uint32_t context_id);
  /// Its cgroup is the record's.
  void move_cgroup(TrackedProcess& tracked, const RecordIdentity& identity);

  /// Processes that were forgotten since too many seemed alive: only after lost exits.
  std::uint64_t forgotten() const noexcept { return forgotten_.value(); }

 private:
  std::shared_ptr<const Context> labels_of(std::uint32_t context_id);
  void name_what_lives(TrackedProcess& tracked, const std::shared_ptr<Process>& process,
                       const RecordIdentity& identity);

  ProgramTable& programs_;
  ContextResolver& resolver_;
  CgroupTable& cgroups_;
  FilterEvaluator filter_;
  FindContext find_context_;
  std::size_t capacity_;
  std::vector<std::shared_ptr<const Context>> contexts_;         ///< By id; null: not registered.
  std::unordered_map<std::uint32_t, TrackedProcess> processes_;  ///< The start time tells whether it is still the same.
  std::unordered_map<std::uint32_t, TextRecord> texts_;          ///< Of processes that are about to be taken in.
  Counter forgotten_;
};

}  // namespace tracer::internal
