// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>

#include "context/failure_chains.hpp"
#include "insight/finding_book.hpp"

namespace tracer::internal {

/// Findings about what failed: at once where the kernel or a stranger ended a process, else when the task or run ends,
/// by what it reports of itself. Bounded: by what lives, and by the constants below.
class FailureFindings {
 public:
  explicit FailureFindings(FindingBook& book) : book_(book) {}

  void saw(const std::shared_ptr<const Process>& process) { chains_.saw(process); }
  void leads(std::uint32_t pid, std::uint64_t start_ns) { chains_.leads(pid, start_ns); }
  void saw(const OomKill& kill);
  void saw(const ProcessExit& exit, std::vector<Event>& events);
  void finished(const TaskFinish& finish, std::vector<Event>& events);
  void finished(const RunFinish& finish, std::vector<Event>& events);
  /// The session ends.
  void finish(std::uint64_t time_ns, std::vector<Event>& events);

 private:
  static constexpr std::size_t kMostOfScope = 64;
  static constexpr std::size_t kMostScopes = 4096;
  static constexpr std::size_t kMostReaders = 8192;
  static constexpr std::size_t kMostAttempts = 8192;

  struct Failed {
    FailureOrigin origin;
    bool trying = false;  ///< Below what tries things out.
    bool by_kernel = false;
    bool by_stranger = false;
    bool wrote = false;  ///< Something, to whatever.
    std::uint64_t end_ns = 0;
  };
  /// What has read from a process through a pipe, and ended well.
  struct Reader {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::shared_ptr<const Process> process;
  };
  struct Attempt {
    std::optional<std::int32_t> exit_code;
    std::optional<std::int32_t> exit_signal;
    std::uint64_t count = 1;
  };

  void decide(const FailureOrigin& origin, Verdict verdict);
  void failed(const FailureOrigin& origin);
  bool is_below_trying(const Process& process) const;
  std::shared_ptr<const Process> reader_of(const Failed& failed) const;
  void report_end(const Failed& failed);
  void remember(std::uint64_t key, Failed failed);
  void hand_out(std::uint32_t leader_pid, std::uint64_t from_key, const std::vector<Failed>& all);
  void report_silent(const Failed& failed, const std::shared_ptr<const Context>& context, std::uint64_t time_ns,
                     std::vector<Event>& events);
  template <class Finish>
  void scope_ended(const Finish& finish, const std::optional<Key>& key, bool is_run, std::vector<Event>& events);
  void note_attempt(const TaskFinish& finish, std::vector<Event>& events);

  FindingBook& book_;
  FailureChains chains_{[this](const auto& failure, auto verdict) { decide(failure, verdict); }};
  std::unordered_map<std::uint64_t, std::vector<Failed>> by_scope_;  ///< By the key of the task, else of the run.
  std::deque<std::uint64_t> scopes_;                                 ///< These keys, the oldest first.
  std::unordered_map<std::uint32_t, OomKill> oom_kills_;             ///< By pid, until its end.
  std::map<std::uint32_t, Reader> readers_;                          ///< By the pid that they read from.
  std::map<std::string, Attempt> attempts_;                          ///< The last that failed, by run and task.
  std::uint64_t now_ns_ = 0;
  std::shared_ptr<const Process> writer_;  ///< Whose end is being decided, if it has written something.
  std::uint64_t ended_ns_ = 0;             ///< Of the process whose end is being decided.
  std::vector<Event>* events_ = nullptr;
};

}  // namespace tracer::internal
