// SPDX-License-Identifier: Apache-2.0
#include "insight/finding_book.hpp"

#include <algorithm>
#include <utility>

#include "base/event_schema.hpp"
#include "base/evidence_text.hpp"
#include "base/heap_bytes.hpp"
#include "base/key_hash.hpp"
#include "base/quantities.hpp"
#include "base/tool_name.hpp"
#include "context/task_name.hpp"
#include "state/process_spans.hpp"

namespace tracer::internal {
namespace {

/// One that is open is said again so often at most, unless it became worse.
constexpr std::uint64_t kLeastBetween_ns = 10'000'000'000;

/// What a task or run is called, for a sentence.
std::string subject_name(const Finding& finding) {
  const Context& context = *finding.context;
  const std::string task = task_name(context);
  if (finding.subject != "run" && context.task_key && !task.empty()) return "task " + task;
  const std::string run = run_name(context);
  if (!run.empty() || context.engine) return "run " + (run.empty() ? *context.engine : run);
  return context.run_key ? "this run" : "no task";
}

std::optional<std::string> named(std::string_view name, const Finding& finding) {
  const auto known = std::find_if(finding.evidence.begin(), finding.evidence.end(),
                                  [&](const auto& each) { return each.name == name; });
  if (known != finding.evidence.end()) return format_evidence(*known);
  if (name == "tool") return finding.tool.value_or("a process");
  if (name == "pid" && finding.pid) return std::to_string(*finding.pid);
  if (name == "task") return subject_name(finding);
  if (name == "count") return std::to_string(finding.count);
  if (name == "duration") return format_duration(finding.last_ns - std::min(finding.first_ns, finding.last_ns));
  return std::nullopt;
}

bool is_worse(const Finding& now, const Finding& before) {
  return now.severity != before.severity || now.confidence != before.confidence || now.count != before.count;
}

}  // namespace

Evidence figure(std::string_view name, std::uint64_t value, std::string_view unit) {
  Evidence evidence{std::string(name), value};
  if (!unit.empty()) evidence.unit = std::string(unit);
  return evidence;
}

Evidence words(std::string_view name, std::string text) {
  Evidence evidence{std::string(name)};
  evidence.text = std::move(text);
  return evidence;
}

bool FindingBook::may_name(const FindingDraft& draft, const Context& context,
                           const std::optional<std::uint32_t>& uid) const {
  const bool is_in_none = work_key(*draft.context) == 0;
  const auto owner = is_in_none && draft.process ? draft.process->uid : draft.context->owner_uid;
  return same_owner(owner, context, uid, user_ids_);
}

std::string FindingBook::name_of(const Process& process, const FindingDraft& draft) const {
  if (!may_name(draft, *process.context, process.uid)) return std::string(kAnothersProgram);
  return known_tool(*process.program).value_or("?");
}

void add_other_user(FindingDraft& draft, const std::optional<std::uint32_t>& euid) {
  const auto owner = draft.context->owner_uid ? draft.context->owner_uid : draft.process->uid;
  if (euid && euid != owner) draft.evidence.push_back(figure("euid", *euid));
}

/// A part in brackets with a name that is not known is left out: "[, sent by {sender}]".
std::string filled_in(std::string_view text, const Finding& finding) {
  std::string out;
  std::string part;
  bool in_part = false;
  bool all_known = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string& to = in_part ? part : out;
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (end != std::string_view::npos) {
      const auto value = named(text.substr(at + 1, end - at - 1), finding);
      to += value.value_or(in_part ? "" : "?");
      all_known = all_known && value.has_value();
      at = end;
    } else if (text[at] == '[' && !in_part) {
      in_part = true;
      all_known = true;
      part.clear();
    } else if (text[at] == ']' && in_part) {
      in_part = false;
      if (all_known) out += part;
    } else {
      to += text[at];
    }
  }
  return out;
}

Key finding_key(std::string_view code, std::string_view subject, const Context& context, const Process* process) {
  KeyHash hash;
  hash.add(code).add(subject);
  hash.add(context.run_key ? to_string(*context.run_key) : std::string());
  hash.add(context.task_key ? to_string(*context.task_key) : std::string());
  if (subject == "step") hash.add(context.step.value_or(""));
  // What has no key may be another user's by the same name.
  if (!context.run_key && !context.task_key && context.owner_uid) hash.add(std::to_string(*context.owner_uid));
  if (process != nullptr && subject == "process")
    hash.add(std::to_string(process->pid)).add(std::to_string(process->start_ns));
  return hash.key();
}

void FindingBook::report(const FindingDraft& draft, std::uint64_t time_ns, std::vector<Event>& events) {
  const FindingRule* rule = rules_.rule_of(draft.code);
  if (rule == nullptr) return;
  const Key key = finding_key(draft.code, draft.subject, *draft.context, draft.process.get());
  Entry* const known = open_.find(static_cast<std::uint64_t>(key));
  Finding finding;
  finding.finding_key = key;
  finding.code = draft.code;
  finding.severity = draft.severity.empty() ? rule->severity : draft.severity;
  finding.confidence = draft.confidence;
  finding.subject = draft.subject;
  finding.state = draft.closed ? "closed" : "open";
  finding.context = draft.context;
  if (draft.process) {
    finding.pid = draft.process->pid;
    finding.start_ns = draft.process->start_ns;
    finding.tool = known_tool(*draft.process->program);
  }
  finding.first_ns = known == nullptr ? draft.first_ns : std::min(known->finding.first_ns, draft.first_ns);
  finding.last_ns = draft.last_ns;
  finding.count = draft.count;
  finding.evidence = draft.evidence;
  finding.text = filled_in(rule->text, finding);
  const auto special = rule->advice_for.find(draft.context->engine.value_or(""));
  finding.advice = filled_in(special == rule->advice_for.end() ? rule->advice : special->second, finding);
  if (draft.closed) {
    finding.time_ns = time_ns;
    open_.erase(static_cast<std::uint64_t>(key));
    events.emplace_back(std::move(finding));
    return;
  }
  const bool must_say =
      known == nullptr || is_worse(finding, known->finding) || time_ns >= known->said_ns + kLeastBetween_ns;
  if (known != nullptr) {
    known->finding = std::move(finding);
    if (must_say) say(*known, time_ns, events);
    return;
  }
  const std::size_t bytes = heap_bytes(finding);
  Entry* const entry =
      open_.put(static_cast<std::uint64_t>(key), draft.context->owner_uid, bytes, {std::move(finding)});
  if (entry != nullptr) say(*entry, time_ns, events);
}

bool FindingBook::is_open(const FindingDraft& draft) const {
  const Key key = finding_key(draft.code, draft.subject, *draft.context, draft.process.get());
  return open_.contains(static_cast<std::uint64_t>(key));
}

void FindingBook::say(Entry& entry, std::uint64_t time_ns, std::vector<Event>& events) {
  entry.said_ns = std::max<std::uint64_t>(time_ns, 1);
  entry.finding.time_ns = time_ns;
  events.emplace_back(entry.finding);
}

void FindingBook::close(std::string_view code, std::string_view subject, const Context& context, const Process* process,
                        std::uint64_t time_ns, std::vector<Event>& events) {
  const auto key = static_cast<std::uint64_t>(finding_key(code, subject, context, process));
  Entry* const known = open_.find(key);
  if (known == nullptr) return;
  known->finding.state = "closed";
  say(*known, time_ns, events);
  open_.erase(key);
}

template <class If>
void FindingBook::close_if(const If& condition, std::uint64_t time_ns, std::vector<Event>& events) {
  std::vector<std::uint64_t> keys;
  open_.each([&](std::uint64_t key, const Entry& entry) {
    if (condition(*entry.finding.context)) keys.push_back(key);
  });
  std::sort(keys.begin(), keys.end());
  for (const std::uint64_t key : keys) {
    Entry& entry = *open_.find(key);
    entry.finding.state = "closed";
    say(entry, time_ns, events);
    open_.erase(key);
  }
}

void FindingBook::close_task(const Context& context, bool is_run, std::uint64_t time_ns, std::vector<Event>& events) {
  close_if(
      [&](const Context& other) {
        return is_run ? context.run_key && other.run_key == context.run_key
                      : context.task_key && other.task_key == context.task_key;
      },
      time_ns, events);
}

void FindingBook::close_all(std::uint64_t time_ns, std::vector<Event>& events) {
  close_if([](const Context&) { return true; }, time_ns, events);
}

}  // namespace tracer::internal
