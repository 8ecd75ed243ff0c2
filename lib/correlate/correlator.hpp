// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/filter.hpp>

#include "correlate/cgroup_table.hpp"
#include "correlate/filter_evaluator.hpp"
#include "correlate/progress_table.hpp"
#include "correlate/secret_rules.hpp"
#include "correlate/tool_rules.hpp"
#include "decode/account.hpp"
#include "decode/records.hpp"

namespace tracer {

/// Turns records into events: joins them to processes, names tools and containers, masks secrets, decides the part of
/// the filter that the kernel can't. One thread at a time.
class Correlator {
 public:
  struct Rules {
    ToolRules tools;
    SecretRules secrets;
    bool mask_secrets = true;
  };
  using Emit = std::function<void(Event)>;
  /// A living process's proportional share of the memory that it has in common with others, in bytes.
  using ReadPss = std::function<std::optional<std::uint64_t>(std::uint32_t pid)>;

  Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, Emit emit, ReadPss read_pss = {});

  /// The labels behind a context id of the records.
  void set_context(std::uint32_t id, Context context);
  void on_record(Record record);
  /// Forgets the ThreadRecords that came since the last call of either.
  void drop_samples() { samples_.clear(); }
  /// Forms samples of them.
  std::vector<ProcessSample> take_samples();
  /// The rates of later samples are those since these.
  void end_snapshot() { progress_.end_round(); }
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

  Entry& entry_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns);
  void fill(Process& process, const RecordIdentity& identity) const;
  void set_text(Process& process, ProgramText text);
  static bool same_program(const Entry& entry, std::uint64_t program_start_ns);
  void announce(Entry& entry);
  void share_out_memory();
  bool read_shares(std::set<std::uint32_t>& pids);
  void forget_memory(std::uint32_t pid);

  Rules rules_;
  FilterEvaluator filter_;
  std::size_t max_processes_;
  Emit emit_;
  ReadPss read_pss_;
  std::map<std::uint32_t, Context> contexts_;
  CgroupTable cgroups_;
  std::unordered_map<std::uint32_t, Entry> processes_;   ///< By pid; the start time tells whether it is still the same.
  std::unordered_map<std::uint32_t, TextRecord> texts_;  ///< Of processes that are about to be taken in.
  struct Sampling {
    ProcessSample sample;
    RawAccount sum{};
    RawWaits waits{};
    std::uint64_t read_before_exec_bytes = 0;
    std::uint32_t flags = 0;
    /// A copy of its parent that has executed nothing: most of its memory is its parent's, too.
    bool is_copy() const noexcept { return (flags & (TRACER_FLAG_EXECUTED | TRACER_FLAG_ADOPTED_LIFE)) == 0; }
  };
  std::map<std::uint32_t, Sampling> samples_;
  ProgressTable progress_;
  bool ledgers_ = true;
  std::uint64_t secrets_masked_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace tracer
