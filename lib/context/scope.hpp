// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/process.hpp>
#include <tracer/task.hpp>

#include "base/bounded.hpp"
#include "base/folder.hpp"
#include "base/user_ids.hpp"
#include "context/keys.hpp"
#include "context/recipe_files.hpp"
#include "rules/engines/engine_rules.hpp"
#include "state/group_memory.hpp"

namespace tracer::internal {

/// What has come of a scope's processes.
struct ScopeTally {
  bool begun = false;
  std::uint64_t begun_ns = 0;
  bool finished = false;
  bool leader_ended = false;
  bool has_account = false;  ///< Something was added to totals.account.
  bool holds_tasks = false;  ///< Of a task: others are in it.
  std::uint64_t living = 0;
  std::uint64_t last_end_ns = 0;
  std::uint64_t tasks = 0;  ///< Of a run: that finished.
  std::uint64_t failed_tasks = 0;
  std::optional<std::int32_t> exit_code = {};  ///< The leader's.
  std::optional<std::int32_t> exit_signal = {};
  TaskTotals totals = {};
  std::uint64_t begin_ns = 0;  ///< Of the leader.
  GroupMemory memory = {};     ///< Its peak is in the totals when it finishes.
};

/// A run or a task that processes are in: a node of the tree of runs within tasks within runs.
struct Scope : std::enable_shared_from_this<Scope> {
  std::shared_ptr<Scope> outer = {};  ///< Null: none.
  Begins begins = Begins::kTask;
  std::string key = {};                 ///< By which processes elsewhere join it; empty: none can.
  std::vector<std::size_t> rules = {};  ///< That began the outer ones and this, the outermost first.
  bool in_run = false;
  bool in_task = false;     ///< In a task of this run, other than those that launchers begin.
  bool carries = false;     ///< Of a task: it turned out to be the one that began in it.
  bool of_command = false;  ///< A run that is one only because the session follows a command.
  /// Of this scope itself; change it by ScopeContexts::changed() alone. Its `owner_uid`: the user who said it by a
  /// service.
  Context said = {};
  std::shared_ptr<const Context> labels = {};  ///< Of a scope that labels begin: these; null: no such scope.
  Requested requested = {};                    ///< By whoever announced it.
  std::optional<Folder> folder = {};           ///< That it stands for; absent: for none, or it is not known.
  std::string serves = {};                     ///< Of a run: see EngineRule::serves.
  std::unique_ptr<RecipeFiles> recipes = {};   ///< Of a run: see EngineRule::recipes; null: there are none.
  std::uint32_t leader_pid = 0;                ///< The process that it began with.
  std::uint64_t leader_start_ns = 0;
  std::shared_ptr<const Program> leader_program = Process::unknown_program();  ///< As it was then. Never null.
  std::shared_ptr<const Cgroup> leader_cgroup = Process::unknown_cgroup();     ///< Likewise.
  std::optional<std::uint32_t> owner_uid = {};                                 ///< The leader's user.
  bool owner_known = false;  ///< False: the leader has executed nothing yet, and may become another user before.
  bool of_several = false;   ///< What root has said of it holds for processes of several users: it is none's.
  std::optional<bool> leader_failed = {};  ///< Absent: it lives, or its status is not known.
  ScopeTally tally = {};
  const EngineRule* unread_rule = nullptr;  ///< Whose notes were not found yet.
  Captures unread_captures = {};
  int reads = 0;
  bool note_pending = false;                         ///< They are being read.
  bool again_failed = false;                         ///< The last of its processes that a rule says are tried again.
  std::optional<std::int32_t> again_exit_code = {};  ///< Likewise.
  std::optional<std::int32_t> again_exit_signal = {};
  // Of a task that is tried several times inside one process, which leads its first attempt.
  std::uint32_t tries = 0;                       ///< Of the first: how often the engine was seen to begin one.
  std::uint32_t attempts = 1;                    ///< Of the first: how many are told apart.
  std::shared_ptr<Scope> last_attempt = {};      ///< Of the first; null: there is no other.
  std::weak_ptr<Scope> first_attempt = {};       ///< Of the others.
  std::shared_ptr<Scope> previous_attempt = {};  ///< Of one that has not begun yet, and is neither of the first two.

  // What ScopeContexts has made of `said` and of the outer scope.
  Context context = {};
  std::shared_ptr<const Context> work = {};  ///< Of processes that do its work; made when asked for.
  /// Of those that do an engine's: by its name where the scope has no engine, as for launchers; else by none.
  std::map<std::string, std::shared_ptr<const Context>> engine_own = {};
  std::uint64_t made_at = 0;        ///< The epoch of the last look.
  std::uint64_t version = 0;        ///< Of `context`.
  std::uint64_t outer_version = 0;  ///< For which it was made.
  bool said_changed = true;
};

/// A new one in `outer`, which may be null. Its memory goes with the last who uses it: those that only remember it keep
/// a few words.
std::shared_ptr<Scope> new_scope(std::shared_ptr<Scope> outer, Begins begins);
/// Another attempt has followed it.
bool was_tried_again(const Scope& scope) noexcept;
/// More of it may come: it is the last attempt so far of a process that lives.
bool may_go_on(const Scope& scope) noexcept;
/// It begins with this process.
void lead(Scope& scope, const Process& process);
bool is_leader(const Scope& scope, const Process& process) noexcept;
/// The leader executes its first program, as the user whose the scope is. True: that is another than was known.
bool own(Scope& scope, const Process& process) noexcept;
/// Of the leader, "12-3e8": unique on this host.
std::string leader_id(const Scope& scope);

/// Holds scopes that have no process, but may still be joined, at their owners' charge.
class KeptScopes {
 public:
  explicit KeptScopes(std::shared_ptr<Accounts> accounts) : kept_(kMostBytes, {}, std::move(accounts)) {}

  void keep(std::shared_ptr<Scope> scope);

 private:
  static constexpr std::size_t kMostBytes = 6u << 20;
  Bounded<std::uint64_t, std::shared_ptr<Scope>> kept_;
  std::uint64_t last_ = 0;
};

/// The contexts of scopes: what is said of the outer ones, and above it of the scope itself. What is said later of an
/// outer one reaches the inner ones when they are asked for.
class ScopeContexts {
 public:
  explicit ScopeContexts(KeyOrigin origin) : origin_(std::move(origin)) {}

  /// Its `said` or its outer scope was changed.
  void changed(Scope& scope) noexcept {
    scope.said_changed = true;
    ++epoch_;
  }
  const Context& of(Scope& scope);
  /// Who said what the scope is, else whose the run or task around it is, else its leader's user. Absent: nobody's.
  std::optional<uid_t> owner_of(Scope& scope);
  /// A process or a scope of this user has come to the scope, and does not descend from what is in it: what is of
  /// several users is nobody's. `claims`: what only root has begun, as root's daemon does for a user, becomes theirs.
  void joined(Scope& scope, const std::optional<uid_t>& uid, bool claims);
  const UserIds& user_ids() const noexcept { return user_ids_; }
  /// The session serves several users: the owner of each run and task is in its key.
  void use(UserIds user_ids) {
    user_ids_ = std::move(user_ids);
    has_users_ = true;
  }
  /// Shared by all processes in it that do its work.
  std::shared_ptr<const Context> shared(Scope& scope);
  /// By all that do this engine's own work.
  std::shared_ptr<const Context> shared_by_engine(Scope& scope, const std::string& engine);
  /// Of scopes whose start was reported, since the last call; without a time.
  std::vector<ContextChange> take_changes() { return std::exchange(changes_, {}); }
  bool has_changes() const noexcept { return !changes_.empty(); }

 private:
  void make(Scope& scope);

  KeyOrigin origin_;
  UserIds user_ids_;
  bool has_users_ = false;
  std::uint64_t epoch_ = 1;
  std::uint64_t versions_ = 0;
  std::vector<ContextChange> changes_;
};

/// The innermost scope around this one that is what is asked for; null: none.
template <class Is>
Scope* first_around(const Scope& scope, Is is) {
  for (Scope* each = scope.outer.get(); each != nullptr; each = each->outer.get())
    if (is(*each)) return each;
  return nullptr;
}
/// True: `wanted` is `scope`, or around it.
bool is_in(const Scope* scope, const Scope* wanted) noexcept;

}  // namespace tracer::internal
