// SPDX-License-Identifier: Apache-2.0
#include "correlate/filter_evaluator.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/path_below.hpp"
#include "base/text.hpp"
#include "context/layers.hpp"
#include "source/proc/cgroup_files.hpp"

namespace tracer::internal {
namespace {

bool matches(const Filter::Rule& rule, const Process& process) {
  const Program& program = *process.program;
  switch (rule.subject) {
    case Filter::Subject::kTree: return process.pid == rule.number;
    case Filter::Subject::kUid: return process.uid == rule.number;
    case Filter::Subject::kCgroup: return process.cgroup->path && is_below(*process.cgroup->path, rule.text);
    case Filter::Subject::kTool: return program.tool && glob_matches(rule.text, *program.tool);
    case Filter::Subject::kExe:
      return program.exe &&
             glob_matches(rule.text, rule.text.find('/') == std::string::npos ? base_name(*program.exe) : *program.exe);
    case Filter::Subject::kArgument:
      return program.argv && std::any_of(program.argv->begin(), program.argv->end(),
                                         [&](const std::string& word) { return glob_matches(rule.text, word); });
  }
  return false;
}

std::shared_ptr<const Context> labels_of(const Context& given) {
  if (given == Context{}) return nullptr;
  Context labels = given;
  stamp(labels, Provenance::kLabel);
  return std::make_shared<const Context>(std::move(labels));
}

}  // namespace

bool decided_in_user_space(Filter::Subject subject) noexcept {
  return subject == Filter::Subject::kExe || subject == Filter::Subject::kTool || subject == Filter::Subject::kArgument;
}

FilterEvaluator::FilterEvaluator(const Filter& filter, bool kernel_helps, bool labels) {
  const auto& rules = filter.rules();
  const bool includes_here = !kernel_helps || std::any_of(rules.begin(), rules.end(), [](const Filter::Rule& rule) {
    return rule.include && decided_in_user_space(rule.subject);
  });
  for (Filter::Rule rule : rules) {
    if (rule.subject == Filter::Subject::kCgroup) rule.text = path_in_hierarchy(std::move(rule.text));
    if (rule.include && includes_here) includes_.push_back({rule, labels ? labels_of(rule.context) : nullptr});
    if (!rule.include && (!kernel_helps || decided_in_user_space(rule.subject))) excludes_.push_back(rule);
  }
}

bool FilterEvaluator::excludes_by_program() const noexcept {
  return std::any_of(excludes_.begin(), excludes_.end(),
                     [](const Filter::Rule& rule) { return decided_in_user_space(rule.subject); });
}

bool FilterEvaluator::takes_whole_trees() const noexcept {
  return excludes_.empty() && std::all_of(includes_.begin(), includes_.end(), [](const Include& include) {
           return !decided_in_user_space(include.rule.subject) && !include.labels;
         });
}

FilterEvaluator::Decision FilterEvaluator::decide(Selection inherited, const Process& process) const {
  if (inherited == Selection::kExcluded) return {inherited, nullptr};
  for (const Filter::Rule& rule : excludes_)
    if (matches(rule, process)) return {Selection::kExcluded, nullptr};
  if (inherited == Selection::kSelected) return {inherited, nullptr};
  for (const Include& include : includes_)
    if (matches(include.rule, process)) return {Selection::kSelected, include.labels};
  return {inherited, nullptr};
}

std::vector<std::string> explain_filter(const Filter& filter, bool kernel_helps, bool own_uid_only) {
  const FilterEvaluator evaluator(filter, kernel_helps);
  std::vector<std::string> lines;
  if (kernel_helps && own_uid_only) lines.emplace_back("only processes of your own user: kernel (others need root)");
  if (filter.rules().empty()) lines.emplace_back("no rule: every process");
  for (const Filter::Rule& rule : filter.rules()) {
    const bool here = !kernel_helps || decided_in_user_space(rule.subject) || (rule.include && evaluator.needs_all());
    lines.push_back(fmt::format("{}: {}", to_string(rule),
                                !here                                 ? "kernel"
                                : decided_in_user_space(rule.subject) ? "user space, from its exec on"
                                                                      : "user space"));
  }
  if (!kernel_helps) return lines;
  if (evaluator.needs_all()) lines.emplace_back("an include rule in user space: the kernel sends every process");
  if (evaluator.may_exclude_late())
    lines.emplace_back("an exclude rule in user space: a process is first reported when it executes or ends");
  return lines;
}

}  // namespace tracer::internal
