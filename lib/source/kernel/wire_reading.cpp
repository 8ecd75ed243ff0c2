// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/wire_reading.hpp"

#include <algorithm>
#include <vector>

namespace tracer::internal {

bool take_hierarchy(std::uint32_t wire, Hierarchy& hierarchy) noexcept {
  switch (wire) {
    case TRACER_HIERARCHY_V2: hierarchy = Hierarchy::kV2; return true;
    case TRACER_HIERARCHY_V1_MEMORY: hierarchy = Hierarchy::kV1Memory; return true;
    case TRACER_HIERARCHY_V1_PIDS: hierarchy = Hierarchy::kV1Pids; return true;
    default: return false;
  }
}

bool take_identity(const tracer_wire_header& header, const tracer_wire_identity& wire, RecordIdentity& identity) {
  identity.time_ns = header.time_ns;
  identity.start_ns = header.start_ns;
  identity.pid = header.pid;
  identity.parent_pid = wire.parent_pid;
  identity.parent_start_ns = wire.parent_start_ns;
  if (wire.uid != TRACER_SAME_UID) identity.uid = wire.uid;
  identity.context_id = wire.context_id;
  identity.cgroup_id = wire.cgroup_id;
  if (wire.pid_namespace != 0) identity.pid_namespace = wire.pid_namespace;
  if (wire.mount_namespace != 0) identity.mount_namespace = wire.mount_namespace;
  identity.comm.assign(wire.comm, ::strnlen(wire.comm, sizeof wire.comm));
  return take_hierarchy(wire.hierarchy, identity.hierarchy);
}

std::string path_of(std::string_view components, bool cut_off) {
  std::vector<std::string_view> names;
  while (!components.empty()) {
    const std::size_t end = std::min(components.find('\0'), components.size());
    names.push_back(components.substr(0, end));
    components.remove_prefix(std::min(end + 1, components.size()));
  }
  std::string path = cut_off ? "…" : "";
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    path += '/';
    path += *name;
  }
  return path.empty() ? "/" : path;
}

}  // namespace tracer::internal
