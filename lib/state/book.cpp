// SPDX-License-Identifier: Apache-2.0
#include "state/book.hpp"

#include <algorithm>

#include "base/heap_bytes.hpp"
#include "base/name_within.hpp"

namespace tracer::internal {
namespace {

/// A scope, with what its processes and what consumers keep of it add while it lives.
constexpr std::size_t kBytesOfScope = 2560;

/// Two users' tasks may be called alike.
std::string name_of(const Context& context, const std::string& name) {
  return (context.owner_uid ? std::to_string(*context.owner_uid) : "") + ' ' + name;
}

}  // namespace

Book::Book(const std::shared_ptr<Accounts>& accounts, std::string_view cause, std::size_t most_bytes_finished,
           std::size_t most_bytes)
    : finished_(most_bytes_finished, {}, accounts,
                [this](std::uint64_t key, ScopeId) {
                  if (const Kept* kept = scopes_.find(key)) let_go(*kept, ScopeId::kNone);
                  scopes_.erase(key);
                }),
      scopes_(most_bytes, cause, accounts, [this](std::uint64_t key, const Kept& kept) {
        let_go(kept, ScopeId::kNone);
        finished_.erase(key);
      }) {}

Book::ScopePtr Book::find(ScopeId id) const {
  const auto known = by_id_.find(id);
  return known == by_id_.end() ? nullptr : known->second;
}

Book::ScopePtr Book::find_key(std::uint64_t key) const {
  const Kept* const known = scopes_.find(key);
  return known == nullptr ? nullptr : known->scope;
}

ScopeId Book::id_of(const Context& context, bool is_run) const {
  const Kept* const known = scopes_.find(key_of(context, is_run));
  return known == nullptr ? ScopeId::kNone : known->scope->id;
}

Book::ScopePtr Book::make(const Context& context, bool is_run) {
  const std::uint64_t key = key_of(context, is_run);
  if (key == 0) return nullptr;
  if (const Kept* const known = scopes_.find(key)) return known->scope;
  auto made = std::make_shared<Scope>();
  made->id = static_cast<ScopeId>(++last_id_);
  made->key = key;
  made->is_run = is_run;
  made->bytes = kBytesOfScope + heap_bytes(context);
  const auto place = order_.insert(order_.end(), made);
  if (scopes_.put(key, context.owner_uid, made->bytes, {made, place}) == nullptr) {
    order_.erase(place);
    return nullptr;
  }
  by_id_.emplace(made->id, made);
  return made;
}

void Book::let_go(const Kept& kept, ScopeId into) {
  const ScopePtr scope = kept.scope;
  forget_name(*scope);
  order_.erase(kept.place);
  by_id_.erase(scope->id);
  for (const Gone& gone : gone_) gone(scope->id, into);
}

/// Another task may have its name by now.
void Book::forget_name(const Scope& scope) {
  const auto known = by_name_.find(scope.name);
  if (known != by_name_.end() && known->second.lock().get() == &scope) by_name_.erase(known);
}

/// Its id or its owner may become known late.
void Book::name(const ScopePtr& task, const Context& context) {
  std::string name = name_of(context, name_within(context));
  if (name == task->name) return;
  // It stands twice.
  if (name.size() > task->name.size() && !charge(*task, 2 * (name.size() - task->name.size()))) return;
  forget_name(*task);
  task->name = std::move(name);
  by_name_[task->name] = task;
}

std::vector<Book::ScopePtr> Book::around(const Context& context) {
  const ScopePtr task = make(context, false);
  const ScopePtr run = make(context, true);
  if (task) name(task, context);
  if (task && run) task->around = run;
  if (run && run->around.expired() && context.within) {
    const auto outer = by_name_.find(name_of(context, *context.within));
    if (outer != by_name_.end() && outer->second.lock() != task) run->around = outer->second;
  }
  std::vector<ScopePtr> all;
  for (auto each = task ? task : run; each && all.size() < kMostAround; each = each->around.lock()) {
    if (std::find(all.begin(), all.end(), each) != all.end()) break;
    all.push_back(each);
  }
  return all;
}

template <class Start>
Book::ScopePtr Book::began(const Start& start, bool is_run) {
  ScopePtr scope = make(*start.context, is_run);
  if (!scope) return nullptr;
  scope->context = start.context;
  scope->started = true;
  scope->pid = start.pid;
  scope->start_ns = start.start_ns;
  return scope;
}

bool Book::saw(const RunStart& start) { return began(start, true) != nullptr; }

bool Book::saw(const TaskStart& start) {
  // One that was over is joined again.
  const ScopePtr known = find(*start.context, false);
  if (known && known->started && !known->finished) return false;
  const ScopePtr task = began(start, false);
  if (!task) return false;
  reopen(*task);
  task->requested = start.requested;
  return true;
}

void Book::saw(const ContextChange& change) {
  if (!change.pid) {
    rename(change.old_run_key, change.after->run_key, change.after->owner_uid);
    rename(change.old_task_key, change.after->task_key, change.after->owner_uid);
  }
  for (const bool is_run : {false, true}) {
    const ScopePtr known = find(*change.after, is_run);
    if (known && known->started && (!is_run || !change.after->task_key)) known->context = change.after;
  }
}

/// Two may turn out to be one.
void Book::rename(const std::optional<Key>& from, const std::optional<Key>& to, const std::optional<uid_t>& owner) {
  if (!from || !to || *from == *to) return;
  const auto old_key = static_cast<std::uint64_t>(*from);
  const auto new_key = static_cast<std::uint64_t>(*to);
  const auto other = scopes_.rename(old_key, new_key, owner);
  if (other) {
    finished_.erase(old_key);
    const ScopePtr same = scopes_.find(new_key)->scope;
    if (const Scope& gone = *other->scope; gone.started && !same->started) {
      same->started = true;
      same->context = gone.context;
      same->pid = gone.pid;
      same->start_ns = gone.start_ns;
      same->requested = gone.requested;
    }
    let_go(*other, same->id);
    charge(*same, other->scope->bytes);
    return;
  }
  finished_.rename(old_key, new_key, owner);
  if (Kept* const kept = scopes_.find(new_key)) kept->scope->key = new_key;
}

void Book::finished(const Context& context, bool is_run) {
  if (const ScopePtr scope = find(context, is_run)) finish(scope, context.owner_uid);
}

void Book::finish(const ScopePtr& scope, const std::optional<uid_t>& owner) {
  const Kept* const kept = scopes_.find(scope->key);
  if (kept == nullptr || kept->scope != scope) return;
  scope->finished = true;
  if (finished_.put(scope->key, owner, scope->bytes, scope->id) != nullptr) return;
  if (const Kept* const there = scopes_.find(scope->key)) let_go(*there, ScopeId::kNone);
  scopes_.erase(scope->key);
}

void Book::reopen(Scope& scope) {
  scope.finished = false;
  finished_.erase(scope.key);
}

bool Book::charge(Scope& scope, std::size_t more_bytes) {
  const Kept* const kept = scopes_.find(scope.key);
  if (kept == nullptr || kept->scope.get() != &scope) return false;
  if (!scopes_.charge(scope.key, scope.bytes + more_bytes)) return false;
  if (scope.finished && !finished_.charge(scope.key, scope.bytes + more_bytes)) {
    scopes_.charge(scope.key, scope.bytes);
    return false;
  }
  scope.bytes += more_bytes;
  return true;
}

}  // namespace tracer::internal
