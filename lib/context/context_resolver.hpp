// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/process.hpp>
#include <tracer/task.hpp>

#include "context/announced_scopes.hpp"
#include "context/context_place.hpp"
#include "context/notes.hpp"
#include "context/scope.hpp"
#include "context/shared_scopes.hpp"
#include "rules/engines/engine_rules.hpp"
#include "rules/tool_rules.hpp"

namespace tracer::internal {

/// Finds the Context of processes: from what they execute, by rules; from their cgroup; from labels; and from what was
/// announced. One thread at a time.
class ContextResolver {
 public:
  /// As NoteQuestions::ask().
  using AskNotes = std::function<std::optional<NoteFindings>(const std::string& name, const NoteQuestion& question)>;
  static constexpr int kMostReads = 8;  ///< Of the notes of one task.

  /// `ask_notes`: empty: no engine's files are read.
  ContextResolver(std::shared_ptr<const EngineRules> rules, std::shared_ptr<const ToolRules> tools, AskNotes ask_notes,
                  std::size_t most_announcements, KeyOrigin key_origin,
                  std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>());

  /// Whose subordinate user ids are whose.
  void use(UserIds user_ids) { contexts_.use(std::move(user_ids)); }
  const UserIds& user_ids() const noexcept { return contexts_.user_ids(); }
  /// What this process executes is a run, named after it, unless labels or an engine say more.
  void add_command(std::uint32_t pid) { commands_.insert(pid); }
  /// Tasks that ended before are not known to it: it counts no attempts.
  void begin_without_past() noexcept { counts_attempts_ = false; }

  /// A process begins: with what its parent has.
  ContextPlace child_of(ContextPlace& parent, const std::shared_ptr<const Process>& parent_process);
  /// How it is known what a process runs: it has just executed that, or was taken in while it ran it, or while it was a
  /// copy of its parent, which matches no rule of its own.
  enum class Runs : std::uint8_t { kExecuted, kTakenIn, kCopy };
  void executes(ContextPlace& place, const std::shared_ptr<const Process>& process, Runs runs = Runs::kExecuted);
  /// The process was labeled: what the same source said before no longer holds. `leads`: where nothing is in what the
  /// labels say, it begins with this process.
  void label(ContextPlace& place, const std::shared_ptr<const Context>& labels, const Process& process,
             bool leads = true);
  /// What was not known of the process's scope before may be by now. An engine writes some notes when a process of it
  /// has begun or ended something.
  void read_again(const ContextPlace& place, const Process& process);
  void ended(const ContextPlace& place, const Process& process, std::optional<std::int32_t> exit_code,
             std::optional<std::int32_t> exit_signal);
  /// False: there are too many.
  bool announce(Announced announced, std::uint64_t now_ns) {
    return announced_.announcements().add(std::move(announced), now_ns);
  }
  Announcements& announcements() noexcept { return announced_.announcements(); }
  const Announcements& announcements() const noexcept { return announced_.announcements(); }
  AnnouncementShares& announcement_shares() noexcept { return announced_.shares(); }

  /// With what was announced since it was asked for last.
  std::shared_ptr<const Context> context_of(ContextPlace& place, const Process& process);
  /// Of a process of root whose context was asked for: for which user it works, in a folder that the user's task stands
  /// for. `mount_namespace`: in which that folder was seen. Absent: that is not proven.
  std::optional<uid_t> proven_owner(const ContextPlace& place, const Process& process,
                                    std::uint32_t mount_namespace) const noexcept;
  std::shared_ptr<const Context> work_context_of(Scope& scope) { return contexts_.shared(scope); }
  /// See ScopeContexts and AnnouncedScopes.
  std::vector<ContextChange> take_changes() { return contexts_.take_changes(); }
  std::vector<ScopeMove> take_moves() { return announced_.take_moves(); }
  bool has_news() const noexcept { return contexts_.has_changes() || announced_.has_moves(); }

 private:
  using Labels = std::pair<const Scope*, const Context*>;

  const EngineRules::Candidates& candidates_of(const std::shared_ptr<const Program>& program, bool has_place);
  void enters_cgroup(ContextPlace& place, const Process& process);
  void match(ContextPlace& place, const Process& process);
  void claim(const ContextPlace& place, const Process& process);
  void begin_command(ContextPlace& place, const Process& process);
  std::shared_ptr<Scope> run_of_engine(const ContextPlace& place, const Process& process);
  void apply(ContextPlace& place, const EngineRules::Match& match, const Process& process, bool by_cgroup = false);
  std::shared_ptr<Scope> scope_of(const ContextPlace& place, const EngineRule& rule, std::size_t index,
                                  Captures captures, const Process& process, bool by_cgroup);
  std::shared_ptr<Scope> carrier_of(const ContextPlace& place, const EngineRule& rule) const;
  std::shared_ptr<Scope> attempt_after_failure(const std::shared_ptr<Scope>& scope);
  std::shared_ptr<Scope> attempt_of_child(const std::shared_ptr<Scope>& scope, const Process& parent);
  std::shared_ptr<Scope> next_attempt(Scope& first);
  std::shared_ptr<Scope> served(std::shared_ptr<Scope> outer, const std::string& served_by, const Process& process);
  void say_all(Scope& scope, const EngineRule& rule, Captures captures, const Process& process);
  void say_captured(Scope& scope, const EngineRule& rule, Captures captures);
  void count_attempt(Scope& scope);
  enum class Notes { kRead, kMissing, kPending };
  /// `unread`: what was captured when this was asked first.
  Notes ask_notes(const Scope& scope, const EngineRule& rule, const Captures& unread, Captures& captures,
                  const Process& process);
  void keep(const std::shared_ptr<Scope>& scope);

  std::shared_ptr<const EngineRules> rules_;
  std::shared_ptr<const ToolRules> tools_;
  AskNotes ask_notes_;
  ScopeContexts contexts_;
  KeptScopes kept_;
  AnnouncedScopes announced_;
  SharedScopes shared_;
  struct Known {
    std::shared_ptr<const Program> program;                            ///< Keeps the address its own.
    std::array<std::optional<EngineRules::Candidates>, 2> candidates;  ///< Without a place, and with one.
  };
  std::unordered_map<const Program*, Known> candidates_;
  std::map<Labels, std::weak_ptr<Scope>> by_labels_;
  std::map<std::pair<const Scope*, std::string>, std::weak_ptr<Scope>> last_tasks_;  ///< By run, owner and name.
  std::set<std::uint32_t> commands_;                                                 ///< Their pids, until they end.
  bool counts_attempts_ = true;
};

}  // namespace tracer::internal
