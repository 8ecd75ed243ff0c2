// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/bounded.hpp"

namespace tracer::internal {

/// A run or task of a stream, in the order in which they were first seen. It stays when more of it becomes known, which
/// changes its key. kNone: there is none.
enum class ScopeId : std::uint64_t { kNone = 0 };

/// The key of a context's run or task. 0: it has none.
inline std::uint64_t key_of(const Context& context, bool is_run) noexcept {
  const auto& key = is_run ? context.run_key : context.task_key;
  return key ? static_cast<std::uint64_t>(*key) : 0;
}

/// The runs and tasks of a stream: which there are, what is around each, and which are over. It sees each event once,
/// in order, before all that ask it. Bounded: the user who holds most loses the oldest; those that are over, and may
/// still be joined, have a bound of their own. One thread.
class Book {
 public:
  struct Scope {
    ScopeId id = ScopeId::kNone;
    std::uint64_t key = 0;
    bool is_run = false;
    bool started = false;  ///< Its start was reported; until then its context is empty.
    bool finished = false;
    std::shared_ptr<const Context> context = Process::no_context();
    std::uint32_t pid = 0;       ///< Of its leader.
    std::uint64_t start_ns = 0;  ///< Likewise.
    Requested requested = {};
    std::string name = {};             ///< Of a task: its owner, and as what is in it says `within`.
    std::weak_ptr<Scope> around = {};  ///< The run of a task, and the task that a run is in. Null: none.
    std::size_t bytes = 0;             ///< That are charged for it.
  };
  using ScopePtr = std::shared_ptr<Scope>;
  /// Called when a scope is no more. `into`: it turned out to be the same as that one; kNone: it was dropped.
  using Gone = std::function<void(ScopeId id, ScopeId into)>;

  static constexpr std::size_t kMostBytes = 64u << 20;
  /// Of one that reads recordings, which have 100,000 tasks and more.
  static constexpr std::size_t kMostBytesOfRecording = 512u << 20;

  /// `cause`: of the losses; a text that lives as long as the program. Empty: none is counted. `most_bytes_finished`:
  /// of those that are over, and may still be joined.
  explicit Book(const std::shared_ptr<Accounts>& accounts = std::make_shared<Accounts>(),
                std::string_view cause = "task_ledgers_full", std::size_t most_bytes_finished = 4u << 20,
                std::size_t most_bytes = kMostBytes);
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  /// Before the first event. In the order of these calls; what was told must outlive this, or its calls end first.
  void when_gone(Gone gone) { gone_.push_back(std::move(gone)); }

  /// False: it runs already.
  bool saw(const RunStart& start);
  bool saw(const TaskStart& start);
  /// Its run or task, and those that have another key from now on, keep their ids.
  void saw(const ContextChange& change);
  /// After all that want to know it as it was: it is over, unless something joins it.
  void finished(const Context& context, bool is_run);
  void finish(const ScopePtr& scope, const std::optional<uid_t>& owner);
  /// Something lives in it again.
  void reopen(Scope& scope);
  /// What a consumer keeps of it takes so many bytes more. Another scope may be dropped for it. False: there is no
  /// room, or it was dropped.
  bool charge(Scope& scope, std::size_t more_bytes);

  /// Null: there is none.
  ScopePtr find(ScopeId id) const;
  ScopePtr find(const Context& context, bool is_run) const { return find_key(key_of(context, is_run)); }
  ScopePtr find_key(std::uint64_t key) const;
  ScopeId id_of(const Context& context, bool is_run) const;
  /// The innermost one: the task of a context, else its run.
  ScopeId id_of(const Context& context) const { return id_of(context, !context.task_key); }
  /// The same, made where there is none. Null: the context names none, or there is no room.
  ScopePtr make(const Context& context, bool is_run);
  ScopePtr make(const Context& context) { return make(context, !context.task_key); }
  /// Those of a context, made where there are none; the innermost first: a task, its run, the task that this run is in,
  /// and so on.
  std::vector<ScopePtr> around(const Context& context);
  /// In the order of their ids; `visit` must not make any.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const ScopePtr& scope : order_) visit(scope);
  }

 private:
  static constexpr std::size_t kMostAround = 8;

  struct Kept {
    ScopePtr scope;
    std::list<ScopePtr>::iterator place;
  };

  template <class Start>
  ScopePtr began(const Start& start, bool is_run);
  void rename(const std::optional<Key>& from, const std::optional<Key>& to, const std::optional<uid_t>& owner);
  void name(const ScopePtr& task, const Context& context);
  void forget_name(const Scope& scope);
  void let_go(const Kept& kept, ScopeId into);

  Bounded<std::uint64_t, ScopeId> finished_;  ///< By key.
  std::list<ScopePtr> order_;                 ///< By id.
  std::unordered_map<ScopeId, ScopePtr> by_id_;
  std::unordered_map<std::string, std::weak_ptr<Scope>> by_name_;  ///< Tasks, by Scope::name.
  std::uint64_t last_id_ = 0;
  std::vector<Gone> gone_;
  Bounded<std::uint64_t, Kept> scopes_;  ///< By key.
};

}  // namespace tracer::internal
