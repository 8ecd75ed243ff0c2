// SPDX-License-Identifier: Apache-2.0
#include "context/context_resolver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "context/command_name.hpp"
#include "context/layers.hpp"
#include "context/task_folder.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostPrograms = 2048;
constexpr std::size_t kMostLineage = 64;  ///< Longer ones are shortened.
constexpr std::size_t kMostAncestors = 1024;
constexpr std::size_t kMostNested = 64;  ///< Scopes that rules begin inside each other.

void add_process(Captures& captures, const Process& process) {
  captures.insert_or_assign("pid", std::to_string(process.pid));
  captures.insert_or_assign("start", fmt::format("{:x}", process.start_ns));
  if (process.program->cwd) captures.insert_or_assign("cwd", *process.program->cwd);
  if (process.program->exe) captures.insert_or_assign("exe", std::string(base_name(*process.program->exe)));
  if (process.program->tool) captures.insert_or_assign("tool", *process.program->tool);
  if (std::string runs = command_name(*process.program); !runs.empty())
    captures.insert_or_assign("runs", std::move(runs));
}

/// Where a run's recipes may be: a text that names something is the only one.
std::vector<std::string> recipe_paths(const EngineRule& rule, const Captures& captures) {
  std::vector<std::string> paths;
  const auto cwd = captures.find("cwd");
  for (const Template& text : rule.recipes) {
    std::string path = text.fill(captures);
    if (path.empty()) continue;
    if (!path.starts_with('/')) {
      if (cwd == captures.end()) continue;
      path = cwd->second + '/' + path;
    }
    paths.push_back(std::move(path));
    if (!text.names().empty()) break;
  }
  return paths;
}

/// Whether what has this key is what the folder holds: the key is how the folder's path ends.
bool stands_for(const std::optional<std::string>& folder, std::string_view key) {
  if (!folder || !folder->ends_with(key)) return false;
  return folder->size() == key.size() || key.front() == '/' || (*folder)[folder->size() - key.size() - 1] == '/';
}

/// What is below a user's own service manager may be called anything by that user.
bool is_made_by_root(const Cgroup& cgroup) { return cgroup.path && !cgroup.path->starts_with("/user.slice/"); }

/// It is the first process of a task.
bool leads_task(const std::shared_ptr<Scope>& scope, const Process& process) {
  return scope && scope->begins == Begins::kTask && is_leader(*scope, process);
}

/// Those that begin each other forever are no chain without an end: ended ones go, and what is beyond a bound.
void shorten(Lineage& lineage) {
  std::size_t depth = 0;
  for (Lineage* each = &lineage; each->up && depth < kMostAncestors;) {
    if (each->up->ended && !each->up->announced) {
      each->up = each->up->up;
    } else {
      each = each->up.get();
      if (++depth == kMostAncestors) each->up.reset();
    }
  }
  lineage.depth = depth;
}

}  // namespace

ContextResolver::ContextResolver(std::shared_ptr<const EngineRules> rules, std::shared_ptr<const ToolRules> tools,
                                 AskNotes ask_notes, std::size_t most_announcements, KeyOrigin key_origin,
                                 std::shared_ptr<Accounts> accounts)
    : rules_(std::move(rules)),
      tools_(std::move(tools)),
      ask_notes_(std::move(ask_notes)),
      contexts_(std::move(key_origin)),
      kept_(accounts),
      announced_(contexts_, kept_, most_announcements, accounts),
      shared_(contexts_) {}

ContextPlace ContextResolver::child_of(ContextPlace& parent, const std::shared_ptr<const Process>& parent_process) {
  if (!parent.self) {
    parent.self = std::make_shared<Lineage>();
    parent.self->up = parent.above;
    parent.self->process = parent_process;
    parent.self->scope = parent.scope;
    parent.self->folder = parent.folder;
    parent.self->looked_at = parent.looked_at;
    if (parent.above) parent.self->depth = parent.above->depth + 1;
    if (parent.self->depth > kMostLineage) shorten(*parent.self);
  }
  ContextPlace place;
  place.scope = attempt_of_child(parent.scope, *parent_process);
  place.rule = parent.rule;
  place.parent_rule = parent.rule;
  place.own = parent.own;
  place.own_tree = parent.own_tree;
  place.own_rule = parent.own_rule;
  place.elsewhere = parent.elsewhere;
  place.cgroup = parent.cgroup;
  place.folder = parent.folder;
  place.above = parent.self;
  if (announcements().empty()) place.looked_at = parent.looked_at;
  return place;
}

const EngineRules::Candidates& ContextResolver::candidates_of(const std::shared_ptr<const Program>& program,
                                                              bool has_place) {
  auto known = candidates_.find(program.get());
  if (known == candidates_.end()) {
    if (candidates_.size() >= kMostPrograms) candidates_.clear();
    known = candidates_.emplace(program.get(), Known{program, {}}).first;
  }
  std::optional<EngineRules::Candidates>& candidates = known->second.candidates[has_place ? 1 : 0];
  if (!candidates) candidates = rules_->candidates(*program, has_place);
  return *candidates;
}

void ContextResolver::executes(ContextPlace& place, const std::shared_ptr<const Process>& executing, Runs runs) {
  const Process& process = *executing;
  if (!place.cgroup || place.cgroup->path != process.cgroup->path) enters_cgroup(place, process);
  if (runs != Runs::kCopy) {
    place.own = place.own_tree;
    place.elsewhere = false;
    place.rule.reset();
  }
  read_again(place, process);
  if (runs != Runs::kCopy) match(place, process);
  claim(place, process);
  if (runs == Runs::kExecuted && commands_.contains(process.pid)) begin_command(place, process);
  for (Scope* each = place.scope.get(); each != nullptr && is_leader(*each, process); each = each->outer.get())
    if (own(*each, process)) contexts_.changed(*each);
  place.looked_at = 0;
  if (place.self) {
    place.self->process = executing;
    place.self->scope = place.scope;
    place.self->folder = place.folder;
  }
}

void ContextResolver::match(ContextPlace& place, const Process& process) {
  EngineSubject subject;
  subject.program = process.program.get();
  if (process.cgroup->path) subject.cgroup = *process.cgroup->path;
  subject.parent = place.parent_rule;
  subject.tools = tools_.get();
  if (place.scope) {
    subject.within = place.scope->rules;
    subject.in_run = place.scope->in_run && !place.scope->in_task;
  }
  const EngineRules::Candidates& candidates = candidates_of(process.program, subject.has_place());
  if (const auto match = rules_->match(subject, candidates)) apply(place, *match, process);
}

/// A scheduler's daemon begins a job as root, before it becomes the user whose job it is.
void ContextResolver::claim(const ContextPlace& place, const Process& process) {
  if (process.uid.value_or(0) == 0 || !is_made_by_root(*process.cgroup)) return;
  for (Scope* each = place.scope.get(); each != nullptr; each = each->outer.get())
    if (each->owner_uid == 0u && !each->labels && !each->rules.empty() &&
        rules_->rules()[each->rules.back()].of_cgroup_alone())
      contexts_.joined(*each, process.uid, true);
}

void ContextResolver::begin_command(ContextPlace& place, const Process& process) {
  const std::string name = process.program->tool.value_or("");
  if (place.scope && place.scope->in_run) {
    // A shell that becomes what it was given at once has no name of its own.
    Scope& run = *place.scope;
    if (!run.of_command || !is_leader(run, process) || place.self || !run.said.run->ends_with(" -c")) return;
    run.said.run.reset();
    say(run.said, "run", name, Provenance::kInferred);
    contexts_.changed(run);
    return;
  }
  // What names a task of its own, such as `tracerd task`, is in the run.
  const bool is_task = place.scope && place.scope->begins == Begins::kTask && is_leader(*place.scope, process);
  auto scope = new_scope(is_task ? place.scope->outer : place.scope, Begins::kRun);
  scope->of_command = true;
  lead(*scope, process);
  scope->said.run_id = leader_id(*scope);
  say(scope->said, "run", name, Provenance::kInferred);
  if (is_task) {
    announced_.put(place.scope, scope);
    place.scope->in_run = true;
    contexts_.changed(*scope);
    return;
  }
  place.scope = scope;
  // Launchers start jobs in a run only.
  match(place, process);
  if (place.rule && place.own) say(scope->said, "engine", rules_->rules()[*place.rule].engine, Provenance::kEngineRule);
  contexts_.changed(*scope);
}

/// The run of the command is the engine's, if that is what the command has become.
std::shared_ptr<Scope> ContextResolver::run_of_engine(const ContextPlace& place, const Process& process) {
  const std::shared_ptr<Scope>& run = place.scope;
  if (!run || !run->of_command || !is_leader(*run, process)) return nullptr;
  run->of_command = false;
  run->said.run.reset();
  run->said.provenance.run.reset();
  lead(*run, process);
  return run;
}

void ContextResolver::enters_cgroup(ContextPlace& place, const Process& process) {
  place.cgroup = process.cgroup;
  if (!process.cgroup->path) return;
  if (const auto match = rules_->match_cgroup(*process.cgroup->path)) {
    const std::optional<std::size_t> rule = place.rule;
    apply(place, *match, process, is_made_by_root(*process.cgroup));
    place.rule = rule;
  }
}

void ContextResolver::apply(ContextPlace& place, const EngineRules::Match& match, const Process& process,
                            bool by_cgroup) {
  const EngineRule& rule = rules_->rules()[match.rule];
  place.rule = match.rule;
  place.elsewhere = rule.elsewhere;
  if (rule.again && place.scope) {
    place.again = true;
    place.scope = attempt_after_failure(place.scope);
  }
  if (rule.tries && place.above && leads_task(place.above->scope, *place.above->process)) ++place.above->scope->tries;
  if (rule.begins != Begins::kNothing) {
    place.scope = scope_of(place, rule, match.rule, match.captures, process, by_cgroup);
    place.own = place.own_tree = false;
  } else if (place.scope && !(rule.gives.empty() && rule.pairs.empty())) {
    say_all(*place.scope, rule, match.captures, process);
  }
  if (rule.own == EngineOwn::kInherited) return;
  place.own = rule.own != EngineOwn::kWork;
  place.own_tree = rule.own == EngineOwn::kTree;
  if (place.own) place.own_rule = match.rule;
}

/// The scope with the rule's key, or a new one in the scope that the process is in.
std::shared_ptr<Scope> ContextResolver::scope_of(const ContextPlace& place, const EngineRule& rule, std::size_t index,
                                                 Captures captures, const Process& process, bool by_cgroup) {
  add_process(captures, process);
  std::string key = rule.key ? rule.key->fill(captures) : std::string();
  const bool shared = !key.empty();
  const bool has_folder = shared && stands_for(process.program->cwd, key);
  if (!shared) key = captures.at("pid") + "-" + captures.at("start");
  key = fmt::format("{} {} {}", rule.engine, static_cast<int>(rule.begins), key);
  if (place.scope && place.scope->rules.size() >= kMostNested) return place.scope;
  if (auto known = shared_.find(key, place, process, by_cgroup))
    return is_in(place.scope.get(), known.get()) ? place.scope : known;

  std::shared_ptr<Scope> outer = place.scope;
  if (const auto carrier = carrier_of(place, rule)) {
    if (!std::exchange(carrier->carries, true)) {
      for (const Provenance by : {Provenance::kEngineRule, Provenance::kInferred}) forget_said(carrier->said, by);
      say(carrier->said, "engine", rule.engine, Provenance::kEngineRule);
      carrier->key = key;
      shared_.add(key, carrier);
      say_all(*carrier, rule, std::move(captures), process);
      return place.scope;
    }
    outer = carrier->outer;
  }
  std::shared_ptr<Scope> scope = rule.begins == Begins::kRun ? run_of_engine(place, process) : nullptr;
  if (!scope) {
    scope = new_scope(rule.served_by ? served(outer, rule.served_by->fill(captures), process) : outer, rule.begins);
    lead(*scope, process);
  }
  if (has_folder) scope->folder = place.folder;
  scope->rules.push_back(index);
  scope->in_task = scope->in_task || (rule.begins == Begins::kTask && !rule.in_run);
  if (rule.begins == Begins::kRun) {
    // It is found by this where the engine has no id for it.
    say(scope->said, "run_id", leader_id(*scope), Provenance::kInferred);
    if (rule.serves) scope->serves = rule.serves->fill(captures);
    if (!scope->serves.empty()) shared_.add_serving(scope->serves, process, scope);
    if (auto paths = recipe_paths(rule, captures); !paths.empty()) {
      scope->recipes = std::make_unique<RecipeFiles>(std::move(paths));
      // Now, because the first tasks may be over before a file is read.
      if (ask_notes_) ask_notes_(leader_id(*scope), {rules_, nullptr, *scope->recipes, {}, process});
    }
  } else if (rule.begins == Begins::kTask) {
    // It is found by this where the engine has no id for it, or a weaker one.
    say(scope->said, "task_id", leader_id(*scope), Provenance::kInferred);
  }
  say(scope->said, "engine", rule.engine, Provenance::kEngineRule);
  scope->key = key;
  shared_.add(key, scope);
  keep(scope);
  say_all(*scope, rule, std::move(captures), process);
  return scope;
}

/// The task that only carries what this rule begins in it: see EngineRule::carried. Null: there is none.
std::shared_ptr<Scope> ContextResolver::carrier_of(const ContextPlace& place, const EngineRule& rule) const {
  if (!rule.carried) return nullptr;
  for (std::shared_ptr<Scope> each = place.scope; each && each->begins != Begins::kRun; each = each->outer)
    if (each->begins == Begins::kTask && !each->rules.empty())
      return rules_->rules()[each->rules.back()].engine == rule.engine ? each : nullptr;
  return nullptr;
}

/// What is around a task that begins in `outer`: has the outermost scope there, or the task itself, be in the run that
/// serves it.
std::shared_ptr<Scope> ContextResolver::served(std::shared_ptr<Scope> outer, const std::string& served_by,
                                               const Process& process) {
  if (served_by.empty()) return outer;
  const auto run = shared_.run_serving(served_by, process);
  if (!outer || !run) return outer ? outer : run;
  std::shared_ptr<Scope> outermost;
  for (std::shared_ptr<Scope> each = outer; each; each = each->outer) {
    if (each->begins == Begins::kRun) return outer;
    outermost = each;
  }
  const auto owner = contexts_.owner_of(*outermost);
  const auto owner_of_run = contexts_.owner_of(*run);
  if (owner == owner_of_run || contexts_.user_ids().same(owner, owner_of_run)) announced_.put(outermost, run);
  return outer;
}

/// Where a process that may be tried again has failed in it, and nothing better shows when it is: the next attempt.
std::shared_ptr<Scope> ContextResolver::attempt_after_failure(const std::shared_ptr<Scope>& scope) {
  auto first = scope->first_attempt.lock();
  if (!first) first = scope;
  if (first->begins != Begins::kTask || first->tries != 0) return scope;
  const std::shared_ptr<Scope>& last = first->last_attempt ? first->last_attempt : first;
  if (!last->again_failed) return last;
  ++first->attempts;
  return next_attempt(*first);
}

/// The attempt that what the parent begins now is in.
std::shared_ptr<Scope> ContextResolver::attempt_of_child(const std::shared_ptr<Scope>& scope, const Process& parent) {
  if (!leads_task(scope, parent)) return scope;
  if (scope->tries > scope->attempts) {
    scope->attempts = scope->tries;
    return next_attempt(*scope);
  }
  return scope->last_attempt ? scope->last_attempt : scope;
}

/// It begins with the first process that comes into it.
std::shared_ptr<Scope> ContextResolver::next_attempt(Scope& first) {
  auto scope = new_scope(first.outer, Begins::kTask);
  scope->rules = first.rules;
  scope->in_run = first.in_run;
  scope->in_task = first.in_task;
  scope->said = first.said;
  scope->requested = first.requested;
  scope->leader_program = first.leader_program;
  scope->leader_cgroup = first.leader_cgroup;
  scope->owner_uid = first.owner_uid;
  scope->owner_known = first.owner_known;
  scope->of_several = first.of_several;
  scope->said.attempt.reset();
  const std::uint32_t attempt = contexts_.of(first).attempt.value_or(1) + first.attempts - 1;
  say(scope->said, "attempt", std::to_string(attempt), Provenance::kInferred);
  scope->first_attempt = first.weak_from_this();
  scope->previous_attempt = std::exchange(first.last_attempt, scope);
  return scope;
}

void ContextResolver::say_all(Scope& scope, const EngineRule& rule, Captures captures, const Process& process) {
  add_process(captures, process);
  if (std::find(scope.said.rules.begin(), scope.said.rules.end(), rule.name) == scope.said.rules.end())
    scope.said.rules.push_back(rule.name);
  const Captures unread = captures;
  scope.unread_rule = nullptr;
  const Notes notes = ask_notes(scope, rule, unread, captures, process);
  scope.note_pending = notes == Notes::kPending;
  if (notes != Notes::kRead) {
    scope.unread_rule = &rule;
    scope.unread_captures = unread;
  }
  say_captured(scope, rule, std::move(captures));
}

void ContextResolver::say_captured(Scope& scope, const EngineRule& rule, Captures captures) {
  for (const Split& split : rule.splits) {
    const std::string text = split.text.fill(captures);
    if (text.empty()) continue;
    for (const Pattern& pattern : split.patterns)
      if (pattern.matches(text, captures)) break;
  }
  for (const GivenField& given : rule.gives) {
    std::string text;
    for (auto each = given.texts.begin(); each != given.texts.end() && text.empty(); ++each)
      text = trim(each->fill(captures));
    if (given.is_label) {
      say_label(scope.said, given.field, text, given.provenance);
    } else {
      say(scope.said, given.field, text, given.provenance);
    }
  }
  for (const LabelPairs& pairs : rule.pairs) {
    const std::string text = pairs.text.fill(captures);
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(pairs.between));
      rest.remove_prefix(std::min(rest.size(), pair.size() + pairs.between.size()));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view name = pair.substr(0, equals);
      const std::string_view value = pair.substr(equals + 1);
      say_label(scope.said, name, value, pairs.provenance);
      if (name == "sample") say(scope.said, "sample", value, pairs.provenance);
    }
  }
  contexts_.changed(scope);
  count_attempt(scope);
}

/// An engine may write its notes a moment after it has begun the task.
void ContextResolver::read_again(const ContextPlace& place, const Process& process) {
  Scope* scope = place.scope.get();
  if (scope == nullptr || scope->unread_rule == nullptr) return;
  if (!scope->note_pending && ++scope->reads > kMostReads) return;
  Captures captures = scope->unread_captures;
  add_process(captures, process);
  const Notes notes = ask_notes(*scope, *scope->unread_rule, scope->unread_captures, captures, process);
  scope->note_pending = notes == Notes::kPending;
  if (notes != Notes::kRead) return;
  say_captured(*scope, *std::exchange(scope->unread_rule, nullptr), std::move(captures));
}

/// A task of the same name, whose predecessor has failed, is that task's next attempt.
void ContextResolver::count_attempt(Scope& scope) {
  if (!counts_attempts_ || scope.begins != Begins::kTask) return;
  const Context& context = contexts_.of(scope);
  // What a task is called for want of a name is no reason to take it for another's next attempt.
  if (!context.task || context.attempt || context.provenance.task < Provenance::kEngineRule) return;
  Scope* run = first_around(scope, [](const Scope& each) { return each.begins == Begins::kRun; });
  if (run == nullptr) return;
  const std::string owner = context.owner_uid ? std::to_string(*context.owner_uid) : "";
  std::weak_ptr<Scope>& last = last_tasks_[{run, owner + ' ' + *context.task}];
  const auto before = last.lock();
  std::uint32_t attempt = 1;
  // Another run may have this one's address by now.
  const bool same_run = before && before.get() != &scope && is_in(before.get(), run);
  if (same_run && before->leader_failed.value_or(false)) attempt = contexts_.of(*before).attempt.value_or(0) + 1;
  last = scope.weak_from_this();
  forget_expired(last_tasks_);
  say(scope.said, "attempt", std::to_string(attempt), Provenance::kInferred);
  contexts_.changed(scope);
}

ContextResolver::Notes ContextResolver::ask_notes(const Scope& scope, const EngineRule& rule, const Captures& unread,
                                                  Captures& captures, const Process& process) {
  if (!ask_notes_) return Notes::kRead;
  NoteQuestion question{rules_, &rule, {}, captures, process};
  // A text that was cut might look like another one's.
  if (rule.recipe && !process.program->argv_cut_bytes) {
    const Scope* run = first_around(scope, [](const Scope& each) { return each.begins == Begins::kRun; });
    if (run != nullptr && run->recipes) question.recipes = *run->recipes;
  }
  if (!rule.notes && !question.recipes) return Notes::kRead;
  // Another process of the task may get the answer.
  const std::string name = fmt::format("{} {} {} {} {}", scope.leader_pid, scope.leader_start_ns, rule.name,
                                       unread.at("pid"), unread.at("start"));
  std::optional<NoteFindings> findings = ask_notes_(name, question);
  if (!findings) return Notes::kPending;
  captures = std::move(findings->captures);
  return findings->found ? Notes::kRead : Notes::kMissing;
}

void ContextResolver::label(ContextPlace& place, const std::shared_ptr<const Context>& labels, const Process& process,
                            bool leads) {
  std::shared_ptr<Scope> outer = place.scope;
  // What the labels replace, and the same labels once more, are no outer scope.
  while (outer && outer->begins == Begins::kNothing) outer = outer->outer;
  std::weak_ptr<Scope>& known = by_labels_[{outer.get(), labels.get()}];
  if (auto scope = known.lock()) {
    contexts_.joined(*scope, process.uid, false);
    place.scope = std::move(scope);
    return;
  }
  auto scope = new_scope(outer, Begins::kNothing);
  if (leads) lead(*scope, process);
  scope->owner_uid = process.uid;
  scope->said = *labels;
  scope->labels = labels;
  scope->in_run = scope->in_run || is_run(*labels) || is_task(*labels);
  scope->in_task = scope->in_task || is_task(*labels);
  known = scope;
  keep(scope);
  forget_expired(by_labels_);
  place.scope = std::move(scope);
}

void ContextResolver::ended(const ContextPlace& place, const Process& process, std::optional<std::int32_t> exit_code,
                            std::optional<std::int32_t> exit_signal) {
  const bool failed = exit_signal || exit_code.value_or(0) != 0;
  for (Scope* each = place.scope.get(); each != nullptr; each = each->outer.get())
    if (is_leader(*each, process)) each->leader_failed = failed;
  if (place.scope && place.again) {
    place.scope->again_failed = failed;
    place.scope->again_exit_code = exit_code;
    place.scope->again_exit_signal = exit_signal;
  }
  if (place.self) place.self->ended = true;
  announcements().ended(process);
  commands_.erase(process.pid);
}

std::shared_ptr<const Context> ContextResolver::context_of(ContextPlace& place, const Process& process) {
  if (place.scope && place.scope->note_pending) read_again(place, process);
  announced_.look(place, process);
  if (!place.scope) return Process::no_context();
  if (!place.own || !place.own_rule) return contexts_.shared(*place.scope);
  return contexts_.shared_by_engine(*place.scope, rules_->rules()[*place.own_rule].engine);
}

std::optional<uid_t> ContextResolver::proven_owner(const ContextPlace& place, const Process& process,
                                                   std::uint32_t mount_namespace) const noexcept {
  const std::optional<uid_t>& owner = process.context->owner_uid;
  if (!owner || !place.folder) return std::nullopt;
  for (const Scope* each = place.scope.get(); each != nullptr; each = each->outer.get())
    if (each->folder && each->folder->mount_namespace == mount_namespace &&
        works_for(*owner, *each->folder, process, *place.folder))
      return owner;
  return std::nullopt;
}

void ContextResolver::keep(const std::shared_ptr<Scope>& scope) {
  kept_.keep(scope);
  shared_.forget_ended();
}

}  // namespace tracer::internal
