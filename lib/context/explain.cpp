// SPDX-License-Identifier: Apache-2.0
#include <tracer/explain.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/host.hpp>

#include "base/context_fields.hpp"
#include "base/proc_stat.hpp"
#include "context/context_resolver.hpp"
#include "context/note_reader.hpp"
#include "context/pool_name.hpp"
#include "rules/engines/engine_rules.hpp"
#include "rules/rules_file.hpp"
#include "rules/secrets/secret_rules.hpp"
#include "rules/tool_rules.hpp"
#include "source/proc/proc_text.hpp"

namespace tracer {
namespace {

using internal::EngineRule;
using internal::EngineRules;
using internal::rules_in;

constexpr int kMostAncestors = 4096;

bool gives(const EngineRule& rule, std::string_view field) {
  const bool is_label = field.starts_with("label.");
  const std::string_view name = is_label ? field.substr(6) : field;
  if (std::any_of(rule.gives.begin(), rule.gives.end(),
                  [&](const auto& given) { return given.is_label == is_label && given.field == name; }))
    return true;
  if (field == "engine") return rule.begins != internal::Begins::kNothing;
  // Names of label pairs are not known before.
  return (is_label || field == "sample") && !rule.pairs.empty();
}

/// The innermost of the rules that give the field.
const EngineRule* rule_giving(const EngineRules& rules, const Context& context, std::string_view field) {
  for (auto name = context.rules.rbegin(); name != context.rules.rend(); ++name) {
    const auto found = std::find_if(rules.rules().begin(), rules.rules().end(),
                                    [&](const EngineRule& rule) { return rule.name == *name; });
    if (found != rules.rules().end() && gives(*found, field)) return &*found;
  }
  return nullptr;
}

/// A process that makes all attempts of its task names the first of them; which of them it is making is not to be seen.
bool may_be_a_later_attempt(const EngineRules& rules, const Context& context) {
  const EngineRule* const giving = rule_giving(rules, context, "attempt");
  const auto is_tried_by = [&](const EngineRule& rule) {
    return (rule.again || rule.tries) && std::any_of(rule.parent.begin(), rule.parent.end(), [&](std::size_t parent) {
             return &rules.rules()[parent] == giving;
           });
  };
  return giving != nullptr && std::any_of(rules.rules().begin(), rules.rules().end(), is_tried_by);
}

/// Without what only the past of its tasks shows.
void leave_out_past(Context& context, const EngineRules& rules) {
  if (context.attempt && may_be_a_later_attempt(rules, context)) {
    context.attempt.reset();
    context.provenance.attempt.reset();
  }
  // Keys of tasks are made of it.
  if (context.task && !context.attempt) context.task_key.reset();
}

internal::NoteFindings look_up_now(const std::string&, const internal::NoteQuestion& question) {
  return internal::look_up(question, internal::read_notes);
}

bool is_by_rule(Provenance provenance) { return provenance <= Provenance::kEngineRule; }

struct TextRules {
  std::shared_ptr<const internal::ToolRules> tools;
  std::shared_ptr<const internal::SecretRules> secrets;  ///< Null: nothing is masked.
};

/// One of a process and its ancestors.
struct Link {
  std::shared_ptr<const Process> process;  ///< Null: it does not live.
  bool copy = false;                       ///< As in TextRecord.
};

Link read_process(std::uint32_t pid, const TextRules& rules) {
  const auto stat = internal::read_proc_stat(static_cast<pid_t>(pid));
  if (!stat) return {};
  auto process = std::make_shared<Process>();
  process->pid = pid;
  process->start_ns = stat->started_from_ns;
  process->parent_pid = stat->parent_pid;
  struct stat folder {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &folder) == 0) process->uid = folder.st_uid;
  internal::TextRecord record = internal::proc_text(pid, process->start_ns, internal::Hierarchy::kV2);
  auto program = std::make_shared<Program>();
  program->exe = std::move(record.text.exe);
  program->argv = std::move(record.text.argv);
  if (program->argv && rules.secrets) rules.secrets->mask(*program->argv);
  program->argv_cut_bytes = record.text.argv_cut_bytes;
  program->cwd = std::move(record.text.cwd);
  if (program->exe || program->argv)
    program->tool =
        rules.tools->name(program->exe.value_or(""), program->argv ? *program->argv : std::vector<std::string>(), "");
  process->program = std::move(program);
  auto cgroup = std::make_shared<Cgroup>();
  cgroup->path = std::move(record.cgroup);
  process->cgroup = std::move(cgroup);
  return {std::move(process), record.copy};
}

std::vector<ContextReason> reasons_of(const Context& context, const EngineRules& rules) {
  std::vector<ContextReason> reasons;
  const auto add = [&](std::string field, std::string value, std::optional<Provenance> provenance, bool overruled) {
    ContextReason reason{std::move(field), std::move(value), provenance, {}, {}, overruled};
    const EngineRule* rule =
        provenance && is_by_rule(*provenance) ? rule_giving(rules, context, reason.field) : nullptr;
    if (rule != nullptr) {
      reason.rule = rule->name;
      reason.condition = rule->condition;
    }
    reasons.push_back(std::move(reason));
  };
  for (const internal::ContextField& field : internal::kContextFields)
    if (context.*field.value)
      add(std::string(field.name), *(context.*field.value), context.provenance.*field.provenance, false);
  if (context.attempt) add("attempt", std::to_string(*context.attempt), context.provenance.attempt, false);
  for (const Label& label : context.labels) add("label." + label.name, label.value, context.provenance.labels, false);
  if (context.within) add("within", *context.within, std::nullopt, false);
  for (const Overruled& one : context.overruled) add(one.field, one.value, one.provenance, true);
  return reasons;
}

}  // namespace

std::vector<ContextReason> explain(const Context& context, const std::filesystem::path& engine_rules) {
  return reasons_of(context, *rules_in<EngineRules>(engine_rules));
}

std::vector<std::vector<ContextReason>> explain(const std::vector<Context>& contexts,
                                                const std::filesystem::path& engine_rules) {
  const auto rules = rules_in<EngineRules>(engine_rules);
  std::vector<std::vector<ContextReason>> all;
  for (const Context& context : contexts) all.push_back(reasons_of(context, *rules));
  return all;
}

Process resolve_process(pid_t pid, const ResolveOptions& options) {
  TextRules rules;
  rules.tools = rules_in<internal::ToolRules>(options.tool_rules);
  if (options.mask_secrets) rules.secrets = rules_in<internal::SecretRules>(options.secret_rules);
  std::vector<Link> chain;
  for (auto next = static_cast<std::uint32_t>(std::max(pid, 0)); next != 0 && chain.size() < kMostAncestors;) {
    Link link = read_process(next, rules);
    if (!link.process) break;
    next = link.process->parent_pid.value_or(0);
    chain.push_back(std::move(link));
  }
  if (chain.empty())
    throw Error({ErrorCode::kFilterNamesNothing,
                 0,
                 fmt::format("no process {} lives", pid),
                 "name one that does, as ps shows them",
                 {}});
  const auto engines = rules_in<EngineRules>(options.engine_rules);
  internal::ContextResolver resolver(
      engines, rules.tools, options.read_engine_notes ? internal::ContextResolver::AskNotes(look_up_now) : nullptr, 1,
      internal::KeyOrigin{this_host().boot_id, {}});
  resolver.begin_without_past();
  internal::ContextPlace place;
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    if (each != chain.rbegin()) place = resolver.child_of(place, std::prev(each)->process);
    std::shared_ptr<const Process>& process = each->process;
    if (auto program = internal::named_by_pool(*rules.tools, place, process->program); program != process->program) {
      auto named = std::make_shared<Process>(*process);
      named->program = std::move(program);
      process = std::move(named);
    }
    using Runs = internal::ContextResolver::Runs;
    resolver.executes(place, process, each->copy && place.above ? Runs::kCopy : Runs::kExecuted);
  }
  Process resolved = *chain.front().process;
  auto context = std::make_shared<Context>(*resolver.context_of(place, resolved));
  // /proc rounds start times, of which keys are made where no engine has an id.
  if (context->provenance.run_id == Provenance::kInferred) context->run_key.reset();
  if (!context->run_key || context->provenance.task_id == Provenance::kInferred) context->task_key.reset();
  leave_out_past(*context, *engines);
  resolved.context = std::move(context);
  return resolved;
}

}  // namespace tracer
