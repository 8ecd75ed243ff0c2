// SPDX-License-Identifier: Apache-2.0
#include "context/scope.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/heap_bytes.hpp"
#include "base/process_schema.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

Context inherited(const Scope& scope) {
  if (!scope.outer) return {};
  const Context& outer = scope.outer->context;
  switch (scope.begins) {
    case Begins::kRun: return inherited_by_run(outer);
    case Begins::kTask: return inherited_by_task(outer);
    case Begins::kPlace: return inherited_by_place(outer);
    case Begins::kNothing: break;
  }
  Context context = outer;
  forget_said(context, Provenance::kLabel);
  return context;
}

}  // namespace

std::shared_ptr<Scope> new_scope(std::shared_ptr<Scope> outer, Begins begins) {
  std::shared_ptr<Scope> scope = std::make_unique<Scope>();
  scope->begins = begins;
  scope->in_run = begins == Begins::kRun;
  if (outer) {
    scope->rules = outer->rules;
    scope->in_run = scope->in_run || outer->in_run;
    scope->in_task = outer->in_task && begins != Begins::kRun;
  }
  scope->outer = std::move(outer);
  return scope;
}

bool was_tried_again(const Scope& scope) noexcept {
  if (scope.last_attempt) return true;
  const auto first = scope.first_attempt.lock();
  return first && (first->last_attempt.get() != &scope || first->tries > first->attempts);
}

bool may_go_on(const Scope& scope) noexcept {
  const auto first = scope.first_attempt.lock();
  return first && first->last_attempt.get() == &scope && !first->tally.leader_ended;
}

void lead(Scope& scope, const Process& process) {
  scope.leader_pid = process.pid;
  scope.leader_start_ns = process.start_ns;
  scope.leader_program = process.program;
  scope.leader_cgroup = process.cgroup;
  scope.owner_uid = process.uid;
}

bool own(Scope& scope, const Process& process) noexcept {
  if (scope.owner_known || scope.of_several) return false;
  scope.owner_known = true;
  return process.uid && std::exchange(scope.owner_uid, process.uid) != process.uid;
}

bool is_leader(const Scope& scope, const Process& process) noexcept {
  return scope.leader_pid == process.pid && scope.leader_start_ns == process.start_ns;
}

std::string leader_id(const Scope& scope) { return fmt::format("{}-{:x}", scope.leader_pid, scope.leader_start_ns); }

void KeptScopes::keep(std::shared_ptr<Scope> scope) {
  // With what its context and those of its processes copy.
  constexpr std::size_t kCopies = 3;
  const auto bytes_of = [](const Scope& kept) {
    return sizeof(Scope) + kept.key.size() + kCopies * heap_bytes(kept.said);
  };
  // Most of what is said of a scope comes after it was kept.
  if (const auto* const before = kept_.find(last_)) kept_.charge(last_, bytes_of(**before));
  const auto owner = scope->said.owner_uid ? scope->said.owner_uid : scope->owner_uid;
  const std::size_t bytes = bytes_of(*scope);
  kept_.put(++last_, owner, bytes, std::move(scope));
}

const Context& ScopeContexts::of(Scope& scope) {
  if (scope.made_at == epoch_) return scope.context;
  scope.made_at = epoch_;
  std::uint64_t outer_version = 0;
  if (scope.outer) {
    of(*scope.outer);
    outer_version = scope.outer->version;
  }
  if (std::exchange(scope.said_changed, false) || outer_version != scope.outer_version) {
    scope.outer_version = outer_version;
    make(scope);
  }
  return scope.context;
}

void ScopeContexts::make(Scope& scope) {
  Context context = inherited(scope);
  const std::optional<uid_t> said_by = scope.said.owner_uid;
  // What one user says of their own is in no run of another's.
  if (said_by && context.owner_uid && !user_ids_.same(said_by, context.owner_uid)) context = Context();
  overlay(context, scope.said);
  forget_made_up(context);
  if (said_by) {
    context.owner_uid = said_by;
  } else if (!context.owner_uid && (is_run(scope.said) || is_task(scope.said))) {
    context.owner_uid = scope.owner_uid;
  }
  if (context.owner_uid) context.owner_uid = user_ids_.owner_of(*context.owner_uid);
  const std::optional<uid_t> owner = has_users_ ? context.owner_uid : std::nullopt;
  if (is_run(scope.said)) set_run_key(context, origin_, owner);
  set_task_key(context, origin_, owner);
  if (scope.version != 0 && context == scope.context) return;
  const auto before = std::exchange(scope.work, nullptr);
  scope.engine_own.clear();
  std::swap(scope.context, context);
  scope.version = ++versions_;
  if (!scope.tally.begun) return;
  changes_.push_back(change_of(before ? before : std::make_shared<const Context>(std::move(context)), shared(scope)));
}

std::optional<uid_t> ScopeContexts::owner_of(Scope& scope) {
  const Context& context = of(scope);
  return context.owner_uid || scope.of_several ? context.owner_uid : scope.owner_uid;
}

void ScopeContexts::joined(Scope& scope, const std::optional<uid_t>& uid, bool claims) {
  if (scope.said.owner_uid || scope.of_several || !uid || *uid == 0) return;
  if (claims && (!scope.owner_uid || *scope.owner_uid == 0)) {
    scope.owner_uid = uid;
  } else if (!user_ids_.same(scope.owner_uid, uid)) {
    scope.of_several = true;
    scope.owner_uid.reset();
  } else {
    return;
  }
  changed(scope);
}

std::shared_ptr<const Context> ScopeContexts::shared(Scope& scope) {
  of(scope);
  if (!scope.work) {
    auto context = std::make_shared<Context>(scope.context);
    context->engine_own = false;
    scope.work = std::move(context);
  }
  return scope.work;
}

std::shared_ptr<const Context> ScopeContexts::shared_by_engine(Scope& scope, const std::string& engine) {
  of(scope);
  const bool adds = !scope.context.engine && !engine.empty();
  std::shared_ptr<const Context>& made = scope.engine_own[adds ? engine : std::string()];
  if (!made) {
    auto context = std::make_shared<Context>(scope.context);
    context->engine_own = true;
    if (adds) say(*context, "engine", engine, Provenance::kEngineRule);
    made = std::move(context);
  }
  return made;
}

bool is_in(const Scope* scope, const Scope* wanted) noexcept {
  for (const Scope* each = scope; each != nullptr; each = each->outer.get())
    if (each == wanted) return true;
  return false;
}

}  // namespace tracer::internal
