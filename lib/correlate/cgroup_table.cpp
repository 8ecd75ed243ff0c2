// SPDX-License-Identifier: Apache-2.0
#include "correlate/cgroup_table.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

constexpr std::size_t kContainerIdDigits = 64;

bool is_hex(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::shared_ptr<const Cgroup> CgroupTable::set(Hierarchy hierarchy, std::uint64_t id, std::string path) {
  if (cgroups_.size() >= room_until_) make_room();
  auto cgroup = std::make_shared<Cgroup>();
  cgroup->id = id;
  cgroup->hierarchy = hierarchy_name(hierarchy);
  cgroup->container_id = container_id_of(path);
  cgroup->path = std::move(path);
  return cgroups_.insert_or_assign({hierarchy, id}, std::move(cgroup)).first->second;
}

std::shared_ptr<const Cgroup> CgroupTable::part(Hierarchy hierarchy, std::uint64_t id) {
  const auto found = cgroups_.find({hierarchy, id});
  if (found != cgroups_.end()) return found->second;
  if (host_ != nullptr)
    if (auto path = host_->cgroup_path(hierarchy, id)) return set(hierarchy, id, std::move(*path));
  if (forgotten_keys_.erase({hierarchy, id}) != 0) forgotten_.add(1);
  if (cgroups_.size() >= room_until_) make_room();
  auto cgroup = std::make_shared<Cgroup>();
  cgroup->id = id;
  cgroup->hierarchy = hierarchy_name(hierarchy);
  return cgroups_.insert_or_assign({hierarchy, id}, std::move(cgroup)).first->second;
}

/// Those that living processes or queued events hold stay: they are looked at again only after as many more have come.
void CgroupTable::make_room() {
  if (forgotten_keys_.size() > capacity_) forgotten_keys_.clear();
  std::erase_if(cgroups_, [this](const auto& entry) {
    if (entry.second.use_count() != 1) return false;
    if (entry.second->path) forgotten_keys_.insert(entry.first);
    return true;
  });
  room_until_ = std::max(capacity_, cgroups_.size() * 2);
}

bool in_cgroup(const Cgroup& cgroup, Hierarchy hierarchy, std::uint64_t id) noexcept {
  return cgroup.id == id && cgroup.hierarchy == hierarchy_name(hierarchy);
}

std::string_view hierarchy_name(Hierarchy hierarchy) noexcept {
  switch (hierarchy) {
    case Hierarchy::kV2: return "v2";
    case Hierarchy::kV1Memory: return "memory";
    case Hierarchy::kV1Pids: return "pids";
  }
  return {};
}

Hierarchy hierarchy_of(const Cgroup& cgroup) noexcept {
  for (const Hierarchy hierarchy : {Hierarchy::kV1Memory, Hierarchy::kV1Pids})
    if (cgroup.hierarchy == hierarchy_name(hierarchy)) return hierarchy;
  return Hierarchy::kV2;
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
