// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/rules.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>

#include <fmt/format.h>

#include "wire.h"

#include "lifecycle.skel.h"
#include "source/proc/cgroup_files.hpp"

namespace tracer::internal {
namespace {

static_assert(static_cast<int>(Hierarchy::kV2) == TRACER_HIERARCHY_V2 &&
              static_cast<int>(Hierarchy::kV1Memory) == TRACER_HIERARCHY_V1_MEMORY &&
              static_cast<int>(Hierarchy::kV1Pids) == TRACER_HIERARCHY_V1_PIDS);

template <class Key>
void put(const bpf_map* map, const Key& key, const tracer_rule& value) {
  if (::bpf_map__update_elem(map, &key, sizeof key, &value, sizeof value, BPF_ANY) == 0) return;
  throw Error({ErrorCode::kInvalidArgument,
               errno,
               "the filter has more rules than the kernel side holds",
               "use at most 1024 trees and 1024 users, and a larger max_cgroups for more cgroups",
               {}});
}

}  // namespace

void KernelRules::add(const SourceRule& rule) {
  const tracer_rule value{rule.rule.include ? std::uint32_t{TRACER_RULE_INCLUDE} : std::uint32_t{TRACER_RULE_EXCLUDE},
                          rule.context_id};
  const auto number = static_cast<std::uint32_t>(rule.rule.number);
  switch (rule.rule.subject) {
    case Filter::Subject::kTree: put(skeleton_.maps.tree_rules, number, value); break;
    case Filter::Subject::kUid: put(skeleton_.maps.uid_rules, number, value); break;
    case Filter::Subject::kCgroup:
      if (const auto top = find_cgroup(rule.rule.text))
        walk_cgroups(*top, [&](const CgroupFolder& folder) {
          put(skeleton_.maps.cgroup_rules,
              tracer_cgroup_key{folder.id, static_cast<std::uint32_t>(folder.hierarchy), 0}, value);
          return true;
        });
      break;
    default: break;
  }
}

void KernelRules::include_tree(std::uint32_t pid, std::uint32_t context_id) {
  put(skeleton_.maps.tree_rules, pid, tracer_rule{TRACER_RULE_INCLUDE, context_id});
}

void KernelRules::forget_trees() const noexcept {
  const int map = ::bpf_map__fd(skeleton_.maps.tree_rules);
  std::uint32_t pid = 0;
  while (::bpf_map_get_next_key(map, nullptr, &pid) == 0) ::bpf_map_delete_elem(map, &pid);
}

}  // namespace tracer::internal
