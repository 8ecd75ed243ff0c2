// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/engine_rules.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "rules/tool_rules.hpp"

namespace tracer::internal {
namespace {

bool any_glob(const std::vector<std::string>& globs, const std::optional<std::string_view>& text) {
  if (globs.empty()) return true;
  return text && std::any_of(globs.begin(), globs.end(),
                             [&](const std::string& glob) { return glob_matches(glob, *text, Brackets::kClasses); });
}

/// The first that matches adds what it captures.
template <class AnyPattern, class Text>
bool any_pattern(const std::vector<AnyPattern>& patterns, const std::optional<Text>& text, Captures& captures) {
  if (patterns.empty()) return true;
  return text && std::any_of(patterns.begin(), patterns.end(),
                             [&](const AnyPattern& pattern) { return pattern.matches(*text, captures); });
}

bool program_matches(const EngineRule& rule, const Program& program, std::optional<std::string_view> exe,
                     Captures& captures) {
  return any_glob(rule.exe, exe) && any_glob(rule.tool, program.tool) &&
         (rule.tool_not.empty() || !any_glob(rule.tool_not, program.tool)) &&
         any_pattern(rule.cwd, program.cwd, captures) && any_pattern(rule.argv, program.argv, captures);
}

bool holds_one_of(const std::vector<std::size_t>& wanted, std::span<const std::size_t> there) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](std::size_t each) {
           return std::find(there.begin(), there.end(), each) != there.end();
         });
}

bool place_matches(const EngineRule& rule, const EngineSubject& subject, Captures& captures) {
  const std::span<const std::size_t> parent(subject.parent ? &*subject.parent : nullptr, subject.parent ? 1 : 0);
  return holds_one_of(rule.parent, parent) && holds_one_of(rule.within, subject.within) &&
         (rule.outside.empty() || !holds_one_of(rule.outside, subject.within)) && (!rule.in_run || subject.in_run) &&
         (!rule.unknown_tool || subject.tools == nullptr ||
          !subject.tools->knows(subject.program->tool.value_or(""))) &&
         any_pattern(rule.cgroup, subject.cgroup, captures);
}

}  // namespace

bool EngineRule::of_cgroup_alone() const noexcept {
  return !cgroup.empty() && exe.empty() && tool.empty() && tool_not.empty() && argv.empty() && cwd.empty() &&
         parent.empty() && within.empty() && outside.empty();
}

EngineRules::Candidates EngineRules::candidates(const Program& program, bool has_place) const {
  Candidates found;
  const auto exe = program.exe ? std::optional(base_name(*program.exe)) : std::nullopt;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const EngineRule& rule = rules_[i];
    if (rule.left_out || rule.of_cgroup_alone() || (rule.needs_place() && !has_place)) continue;
    Captures captures;
    if (program_matches(rule, program, exe, captures)) found.emplace_back(i, std::move(captures));
  }
  return found;
}

std::optional<EngineRules::Match> EngineRules::match(const EngineSubject& subject, const Candidates& candidates) const {
  for (const auto& [rule, captured] : candidates) {
    Captures captures = captured;
    if (place_matches(rules_[rule], subject, captures)) return Match{rule, std::move(captures)};
  }
  return std::nullopt;
}

std::optional<EngineRules::Match> EngineRules::match_cgroup(std::string_view path) const {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Captures captures;
    if (!rules_[i].left_out && rules_[i].of_cgroup_alone() &&
        any_pattern(rules_[i].cgroup, std::optional(path), captures))
      return Match{i, std::move(captures)};
  }
  return std::nullopt;
}

}  // namespace tracer::internal
