// SPDX-License-Identifier: Apache-2.0
#include "source/proc/process_choice.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "source/proc/cgroup_files.hpp"

namespace tracer::internal {

ProcessChoice::ProcessChoice(const SourceRequest& request)
    : rules_(request.rules),
      track_all_(request.track_all),
      own_uid_only_(request.own_uid_only),
      beyond_trees_(request.track_all),
      own_uid_(::getuid()) {
  for (auto& [rule, context_id] : rules_) {
    if (rule.subject == Filter::Subject::kCgroup) rule.text = path_in_hierarchy(std::move(rule.text));
    beyond_trees_ = beyond_trees_ || (rule.include && rule.subject != Filter::Subject::kTree);
    needs_cgroups_ = needs_cgroups_ || rule.subject == Filter::Subject::kCgroup;
  }
}

bool ProcessChoice::matches(const Filter::Rule& rule, const Candidate& candidate) const {
  switch (rule.subject) {
    case Filter::Subject::kTree: return candidate.at_start && rule.number == candidate.pid;
    case Filter::Subject::kUid: return rule.number == candidate.uid;
    case Filter::Subject::kCgroup:
      return candidate.cgroup && candidate.cgroup->starts_with(rule.text) &&
             (candidate.cgroup->size() == rule.text.size() || rule.text == "/" ||
              (*candidate.cgroup)[rule.text.size()] == '/');
    default: return false;
  }
}

bool ProcessChoice::excludes(const Candidate& candidate) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const SourceRule& each) { return !each.rule.include && matches(each.rule, candidate); });
}

std::optional<std::uint32_t> ProcessChoice::choose(const Candidate& candidate) const {
  if (own_uid_only_ && candidate.uid != own_uid_) return std::nullopt;
  if (excludes(candidate)) return std::nullopt;
  // A rule that names the process itself says more than its parent's.
  for (const auto& [rule, context_id] : rules_)
    if (rule.include && rule.subject == Filter::Subject::kTree && matches(rule, candidate)) return context_id;
  if (candidate.parents) return candidate.parents;
  for (const auto& [rule, context_id] : rules_)
    if (rule.include && matches(rule, candidate)) return context_id;
  return track_all_ ? std::optional(0u) : std::nullopt;
}

}  // namespace tracer::internal
