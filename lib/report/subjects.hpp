// SPDX-License-Identifier: Apache-2.0
/// What a recording knows of each run and task, and of processes by their pid: for questions about one of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/report.hpp>

#include "report/sums/finding_list.hpp"
#include "report/sums/run_paths.hpp"
#include "state/book.hpp"

namespace tracer::internal {

struct SubjectProcess {
  std::shared_ptr<const Process> process;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  ///< Of one that lives: its last sample.
  bool living = false;
  bool failed = false;  ///< Its failure began in it.
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
  std::optional<std::uint64_t> cpu_ns = {};
  std::optional<std::uint64_t> cpu_before_ns = {};  ///< Of one that lived before: until it was attached.
  std::optional<std::uint64_t> peak_bytes = {};
  std::optional<Figure> read_bytes = {};
  std::optional<Figure> written_bytes = {};
  std::optional<ProcessLedger> ledger = {};
  std::optional<std::string> disk_wait_device = {};  ///< As in ProcessExit; so is the next.
  std::uint64_t disk_wait_device_ns = 0;
};

/// A run or task.
struct SubjectScope {
  static constexpr std::size_t kMostLargest = 8;
  static constexpr std::size_t kMostLongest = 8;
  static constexpr std::size_t kMostFailed = 64;
  static constexpr std::size_t kMostDevices = 64;

  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  bool is_run = false;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  ///< Of one that has not finished: when it was seen last.
  bool finished = false;
  bool is_any_seen = false;  ///< Of its processes.
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
  std::uint64_t processes = 0;        ///< That ended.
  std::uint64_t failed = 0;           ///< Failures that began in it.
  std::optional<Figure> cpu_ns = {};  ///< As in its row of a report; so are the next.
  std::optional<Figure> memory_bytes = {};
  std::optional<std::uint64_t> memory_at_most_bytes = {};
  std::optional<Figure> read_bytes = {};
  std::optional<Figure> written_bytes = {};
  std::optional<TaskLedger> ledger = {};
  std::vector<AwaitedTask> waits_for = {};  ///< As in TaskFinish.
  Requested requested = {};
  std::vector<SubjectProcess> largest = {};                ///< Most CPU first, without the engine's own.
  std::vector<SubjectProcess> longest = {};                ///< Likewise, those that lived longest.
  std::vector<SubjectProcess> failures = {};               ///< The first of them.
  std::map<std::string, std::uint64_t> disk_wait_ns = {};  ///< Of threads that ended, by device: lower bounds.
};

/// Another task or run that ran at the same time.
struct Neighbor {
  const SubjectScope* scope = nullptr;
  std::uint64_t together_ns = 0;
};

/// A block device while a subject ran, for the whole host.
struct BusyWhile {
  std::string name;
  std::uint64_t span_ns = 0;  ///< Which its samples cover.
  std::optional<std::uint64_t> busy_ns = {};
  const SubjectScope* other = nullptr;  ///< The other task that asked for most of it; null: none is known to.
  std::uint64_t other_bytes = 0;
};

inline std::uint64_t life_ns(const SubjectProcess& process) {
  return process.end_ns - std::min(process.begin_ns, process.end_ns);
}

/// What a name may mean: one of the two.
struct Subject {
  const SubjectScope* scope = nullptr;
  const SubjectProcess* process = nullptr;
};

/// Bounded: by kMostScopes, and of each by the constants above.
class Subjects {
 public:
  static constexpr std::size_t kMostScopes = 100'000;
  static constexpr std::size_t kMostDeviceSamples = 200'000;
  static constexpr std::size_t kMostOfPid = 64;
  static constexpr std::size_t kMostOfTool = 12;

  /// `asked`: what the question is about, by which processes are kept.
  explicit Subjects(std::string_view asked);

  void add(const Event& whole);
  /// No event follows.
  void finish(const RecordingDamage& damage = {});

  /// All that a name, id, key or pid may mean; several: it does not say enough. A part of a name counts where nothing
  /// is called so, and then a tool: the processes of it, of which those with most CPU time are kept.
  std::vector<Subject> find(std::string_view asked) const;
  /// What there is to ask for, the slowest first: tasks that count.
  std::vector<const SubjectScope*> tasks() const;
  std::vector<const SubjectScope*> runs() const;
  const SubjectScope* task_by(Key key) const;
  const SubjectScope* task_of(const Context& context) const;
  const SubjectScope* run_of(const Context& context) const;

  /// The worst first.
  std::vector<Finding> findings() const { return findings_.ranked(); }
  std::vector<Finding> findings_of(const Subject& subject) const;
  /// Those with most CPU time while both ran come first.
  std::vector<Neighbor> neighbors_of(const Subject& subject) const;
  std::vector<BusyWhile> devices_of(const Subject& subject) const;
  /// As in RunPaths.
  std::optional<CriticalPath> path_of(const SubjectScope& run) const;

  std::uint64_t first_ns() const noexcept { return first_ns_; }
  std::uint64_t last_ns() const noexcept { return last_ns_; }
  std::uint64_t left_out() const noexcept { return left_out_; }
  /// It was recorded without rights, from /proc.
  bool is_polled() const noexcept { return is_polled_; }

 private:
  struct DeviceUse {
    std::uint64_t since_ns = 0;
    std::uint64_t time_ns = 0;
    std::string name;
    std::optional<std::uint64_t> busy_ns;
    ScopeId task = ScopeId::kNone;  ///< Of the process that asked for most.
    std::uint64_t bytes = 0;
  };

  SubjectScope* scope(const std::shared_ptr<const Context>& context, bool is_run, std::uint64_t time_ns);
  void add_process(const SubjectProcess& process);
  template <class Finish>
  void add_finish(const Finish& finish, bool is_run);
  void saw(const ContextChange& change);
  void saw(const ProcessExit& exit, std::optional<std::uint64_t> cpu_before_ns);
  void gone(ScopeId id, ScopeId into);
  void take_figures(const std::vector<ReportNode>& nodes);
  const SubjectScope* scope_by(ScopeId id) const;
  void settle(SubjectScope& scope) const;

  std::string asked_;
  std::optional<std::uint32_t> pid_;
  Book book_{std::make_shared<Accounts>(), {}, Book::kMostBytesOfRecording, Book::kMostBytesOfRecording};
  std::unordered_map<ScopeId, SubjectScope> scopes_;
  std::map<std::uint32_t, SubjectProcess> living_;                    ///< By pid, as sampled last.
  std::vector<SubjectProcess> of_pid_;                                ///< Those that had it, one after the other.
  std::vector<SubjectProcess> of_tool_;                               ///< Most CPU first.
  std::unordered_map<ScopeId, std::vector<FailedProcess>> failures_;  ///< Of finished scopes.
  std::vector<DeviceUse> devices_;
  RunPaths paths_{book_};
  FindingList findings_;
  Summary summary_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t left_out_ = 0;  ///< Runs and tasks.
  bool is_polled_ = false;
};

/// The figures of one as a row of a report: its time, and what bounds it.
ReportRow row_of_subject(const Subject& subject);
/// For which its threads waited longest. Absent: none is known.
std::optional<std::string> disk_wait_device_of(const Subject& subject);
/// "align (S1)", "rnaseq r42": what people call it.
std::string name_of_scope(const SubjectScope& scope);

/// One JSON object, as docs/findings.md describes it.
std::string to_json(const Subjects& subjects, const Subject& subject);
/// Of a whole recording, likewise.
std::string to_json(const Subjects& subjects);

}  // namespace tracer::internal
