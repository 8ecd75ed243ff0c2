// SPDX-License-Identifier: Apache-2.0
#include "context/announced_scopes.hpp"

#include <algorithm>

#include "base/path_below.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostRuns = 1u << 14;

Begins begins_of(const Context& context) {
  return is_task(context) ? Begins::kTask : is_run(context) ? Begins::kRun : Begins::kPlace;
}

enum class Held { kNot, kInside, kExactly };

/// Whether the scope's own leader is what the key speaks of.
Held held_by(const Scope& scope, std::string_view key, const Process& process) {
  const std::string_view name = key.substr(1);
  const auto held = [](bool exactly) { return exactly ? Held::kExactly : Held::kInside; };
  switch (key.front()) {
    case 'd':
      if (!scope.leader_program->cwd || !is_below(*scope.leader_program->cwd, name)) return Held::kNot;
      return held(*scope.leader_program->cwd == name);
    case 'c':
      if (!scope.leader_cgroup->path || !is_below(*scope.leader_cgroup->path, name)) return Held::kNot;
      return held(*scope.leader_cgroup->path == name);
    case 'i':
      return scope.leader_cgroup->container_id && scope.leader_cgroup->container_id->starts_with(name) ? Held::kExactly
                                                                                                       : Held::kNot;
    case 'l':
      return std::any_of(scope.said.labels.begin(), scope.said.labels.end(),
                         [&](const Label& label) { return label.name + "=" + label.value == name; })
                 ? Held::kInside
                 : Held::kNot;
    default: break;
  }
  return is_leader(scope, process) ? Held::kExactly : Held::kNot;
}

bool says_run(const Context& context) { return context.run || context.pipeline || context.run_id; }

/// It is known by another name.
bool is_another_run(const Context& run, const Context& said) {
  const bool has_id = run.provenance.run_id.value_or(Provenance::kInferred) != Provenance::kInferred;
  if (has_id && said.run_id) return *run.run_id != *said.run_id;
  return run.run && said.run && *run.run != *said.run;
}

/// The outermost scope around a process that is not around `announced` as well.
Scope& outermost_beside(const std::shared_ptr<Scope>& scope, const Scope& announced) {
  Scope* outermost = scope.get();
  while (outermost->outer && !is_in(&announced, outermost->outer.get())) outermost = outermost->outer.get();
  return *outermost;
}

/// The run or labels, around the scope, that say of which run it is.
Scope* run_said_around(Scope& scope) {
  return first_around(scope, [](const Scope& each) {
    return (each.begins == Begins::kRun && !each.of_command) || (each.begins == Begins::kNothing && is_run(each.said));
  });
}

}  // namespace

void AnnouncedScopes::look(ContextPlace& place, const Process& process) {
  if (place.looked_at == announcements_.epoch()) return;
  place.looked_at = announcements_.epoch();
  if (place.elsewhere) return;
  const std::shared_ptr<Scope> before = place.scope;
  compare(place.scope, place.above, process, place.folder, false);
  if (place.self && before != place.scope) place.self->scope = place.self->announced = place.scope;
}

void AnnouncedScopes::look(Lineage& lineage) {
  if (lineage.looked_at == announcements_.epoch()) return;
  lineage.looked_at = announcements_.epoch();
  const std::shared_ptr<Scope> before = lineage.scope;
  compare(lineage.scope, lineage.up, *lineage.process, lineage.folder, lineage.ended);
  if (before != lineage.scope) lineage.announced = lineage.scope;
}

void AnnouncedScopes::compare(std::shared_ptr<Scope>& scope, const std::shared_ptr<Lineage>& above,
                              const Process& process, const std::optional<Folder>& folder, bool ended) {
  if (above) {
    look(*above);
    follow(scope, *above);
  }
  const auto found = [&](Announcements::Known& known, std::string_view key) {
    meet(known, key, scope, process, ended);
  };
  // What is found changes what the scope says.
  std::vector<Label> labels;
  if (scope && announcements_.any_of_labels()) labels = contexts_.of(*scope).labels;
  announcements_.find(process, folder, labels, found);
  if (!announcements_.any_below()) return;
  std::size_t left = kMostCompared;
  for (const Lineage* each = above.get(); each != nullptr && left != 0; each = each->up.get())
    left -= announcements_.find_below(*each->process, process, left, found);
}

/// An ancestor was put into an announced scope when this process, or the scope that it is in, had begun.
void AnnouncedScopes::follow(std::shared_ptr<Scope>& scope, const Lineage& above) {
  if (!above.announced) return;
  if (scope && !is_in(above.announced.get(), scope.get())) {
    const Scope& outermost = outermost_beside(scope, *above.announced);
    // What began before its ancestor was somewhere else, and still is.
    if (!outermost.outer && outermost.leader_start_ns < above.process->start_ns) return;
  }
  join(scope, above.announced);
}

bool AnnouncedScopes::may_speak_of(Scope& scope, std::optional<uid_t> said_by) {
  return !said_by || contexts_.user_ids().same(said_by, contexts_.owner_of(scope));
}

/// Has a process in `scope` be in `announced`, unless another user's run or task around it would be there as well.
void AnnouncedScopes::join(std::shared_ptr<Scope>& scope, const std::shared_ptr<Scope>& announced) {
  if (is_in(scope.get(), announced.get())) return;
  if (!scope || is_in(announced.get(), scope.get())) {
    scope = announced;
    return;
  }
  Scope& outermost = outermost_beside(scope, *announced);
  for (Scope* each = scope.get(); each != outermost.outer.get(); each = each->outer.get())
    if (!may_speak_of(*each, announced->said.owner_uid)) return;
  contexts_.joined(*announced, contexts_.owner_of(outermost), true);
  put(outermost.shared_from_this(), announced);
}

void AnnouncedScopes::put(const std::shared_ptr<Scope>& scope, const std::shared_ptr<Scope>& outer) {
  if (scope->outer == outer || is_in(outer.get(), scope.get())) return;
  ScopeMove move{scope, {}};
  for (std::shared_ptr<Scope> each = outer; each; each = each->outer)
    if (!is_in(scope.get(), each.get())) move.gained.push_back(each);
  std::reverse(move.gained.begin(), move.gained.end());
  moves_.push_back(std::move(move));
  scope->outer = outer;
  contexts_.changed(*scope);
}

void AnnouncedScopes::meet(Announcements::Known& known, std::string_view key, std::shared_ptr<Scope>& scope,
                           const Process& process, bool ended) {
  auto announced = known.scope.lock();
  if (!announced) {
    const Context context = known.context();
    announced = made(context, key, scope, process, ended);
    known.scope = announced;
    known.said = true;
    say(*announced, context, known.requested(), process);
  } else if (!known.said) {
    known.said = true;
    say(*announced, known.context(), known.requested(), process);
  }
  if (known.folder) announced->folder = known.folder;
  if (!is_in(scope.get(), announced.get())) contexts_.joined(*announced, process.uid, true);
  join(scope, announced);
}

/// The scope that it speaks of, if a rule has begun that already; otherwise a new one, around all scopes that it holds.
std::shared_ptr<Scope> AnnouncedScopes::made(const Context& context, std::string_view key,
                                             const std::shared_ptr<Scope>& scope, const Process& process, bool ended) {
  const Begins begins = begins_of(context);
  std::shared_ptr<Scope> held;
  for (std::shared_ptr<Scope> each = scope; each; each = each->outer) {
    if (each->begins == Begins::kNothing) continue;
    if (!may_speak_of(*each, context.owner_uid)) break;
    const Held how = held_by(*each, key, process);
    if (how == Held::kExactly && each->begins == begins) return each;
    if (how != Held::kNot) held = each;
  }
  auto announced = new_scope(held ? held->outer : scope, begins);
  lead(*announced, process);
  if (held) {
    announced->leader_pid = held->leader_pid;
    announced->leader_start_ns = held->leader_start_ns;
    announced->owner_uid = contexts_.owner_of(*held);
  }
  announced->in_run = announced->in_run || begins != Begins::kPlace;
  announced->in_task = announced->in_task || begins == Begins::kTask;
  // Its status was not seen.
  announced->tally.leader_ended = ended;
  if (begins == Begins::kRun) internal::say(announced->said, "run_id", leader_id(*announced), Provenance::kInferred);
  if (held) {
    contexts_.joined(*announced, process.uid, true);
    put(held, announced);
  }
  kept_.keep(announced);
  return announced;
}

void AnnouncedScopes::say(Scope& scope, const Context& context, const Requested& requested, const Process& process) {
  Context own = context;
  if (scope.begins == Begins::kTask && says_run(context)) {
    Scope* run = run_said_around(scope);
    const auto is_another = [&](Scope& one) {
      return is_another_run(contexts_.of(one), context) || !may_speak_of(one, context.owner_uid);
    };
    if (run == nullptr || (run->begins == Begins::kRun && is_another(*run))) {
      give_run(scope, context, process);
      run = run_said_around(scope);
    }
    if (run != nullptr && run->begins == Begins::kRun) {
      Context of_run;
      of_run.pipeline = std::exchange(own.pipeline, std::nullopt);
      of_run.run = std::exchange(own.run, std::nullopt);
      of_run.run_id = std::exchange(own.run_id, std::nullopt);
      // With its id, it makes the key: as that of a submission.
      if (of_run.run_id && !run->said.engine) of_run.engine = own.engine;
      stamp(of_run, Provenance::kAnnounced);
      overlay(run->said, of_run);
      if (context.owner_uid) run->said.owner_uid = context.owner_uid;
      contexts_.changed(*run);
    }
  }
  if (scope.begins == Begins::kTask && !own.task_id && !scope.said.task_id)
    internal::say(scope.said, "task_id", leader_id(scope), Provenance::kInferred);
  overlay(scope.said, own);
  if (own.owner_uid) scope.said.owner_uid = own.owner_uid;
  if (requested != Requested{}) scope.requested = requested;
  contexts_.changed(scope);
}

/// A run that no rule has found: all tasks that were announced of it are in it. Jobs and containers that hold the task
/// are in it as well; what was labeled is around it.
void AnnouncedScopes::give_run(Scope& scope, const Context& context, const Process& process) {
  std::shared_ptr<Scope> top = scope.shared_from_this();
  // What is in another run already stays there: others may be in it, too.
  if (run_said_around(scope) == nullptr)
    while (top->outer && (top->outer->begins == Begins::kTask || top->outer->begins == Begins::kPlace))
      top = top->outer;
  const std::string said_by =
      context.owner_uid ? std::to_string(contexts_.user_ids().owner_of(*context.owner_uid)) : "";
  std::weak_ptr<Scope>& known =
      runs_[{top->outer.get(), said_by + '\0' + context.pipeline.value_or("") + '\0' + context.run.value_or("") + '\0' +
                                   context.run_id.value_or("")}];
  auto run = known.lock();
  if (!run) {
    run = new_scope(top->outer, Begins::kRun);
    lead(*run, process);
    internal::say(run->said, "run_id", leader_id(*run), Provenance::kInferred);
    known = run;
    kept_.keep(run);
    if (runs_.size() > kMostRuns) std::erase_if(runs_, [](const auto& one) { return one.second.expired(); });
  }
  put(top, run);
}

}  // namespace tracer::internal
