// SPDX-License-Identifier: Apache-2.0
#include "correlate/cgroup_table.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

constexpr std::size_t kContainerIdDigits = 64;

bool is_hex(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

void CgroupTable::set(Hierarchy hierarchy, std::uint64_t id, std::string path) {
  if (paths_.size() >= capacity_) paths_.clear();
  paths_.insert_or_assign({hierarchy, id}, std::move(path));
}

const std::string* CgroupTable::find(Hierarchy hierarchy, std::uint64_t id) const {
  const auto found = paths_.find({hierarchy, id});
  return found == paths_.end() ? nullptr : &found->second;
}

std::string_view hierarchy_name(Hierarchy hierarchy) noexcept {
  switch (hierarchy) {
    case Hierarchy::kV1Memory: return "memory";
    case Hierarchy::kV1Pids: return "pids";
    case Hierarchy::kV2: break;
  }
  return "v2";
}

std::optional<std::string> container_id_of(std::string_view cgroup_path) {
  while (!cgroup_path.empty()) {
    const std::size_t slash = cgroup_path.rfind('/');
    std::string_view part = slash == std::string_view::npos ? cgroup_path : cgroup_path.substr(slash + 1);
    cgroup_path = slash == std::string_view::npos ? std::string_view() : cgroup_path.substr(0, slash);
    if (part.ends_with(".scope")) part.remove_suffix(6);
    if (part.size() < kContainerIdDigits) continue;
    const std::string_view digits = part.substr(part.size() - kContainerIdDigits);
    const bool separated = part.size() == digits.size() || part[part.size() - digits.size() - 1] == '-';
    if (separated && std::all_of(digits.begin(), digits.end(), is_hex)) return std::string(digits);
  }
  return std::nullopt;
}

}  // namespace tracer::internal
