// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/wire_reading.hpp"

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
  identity.comm = text_in(wire.comm);
  return take_hierarchy(wire.hierarchy, identity.hierarchy);
}

std::string path_of(std::string_view components, bool cut_off) {
  std::string path = cut_off ? "…" : "";
  path.reserve(path.size() + components.size() + 1);
  if (components.ends_with('\0')) components.remove_suffix(1);
  // From behind, as the leaf is in front.
  for (bool more = !components.empty(); more;) {
    const std::size_t before = components.rfind('\0');
    more = before != std::string_view::npos;
    path += '/';
    path += components.substr(more ? before + 1 : 0);
    if (more) components.remove_suffix(components.size() - before);
  }
  if (path.empty()) path += '/';
  return path;
}

}  // namespace tracer::internal
