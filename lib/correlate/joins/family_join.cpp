// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/family_join.hpp"

#include "correlate/joins/containers.hpp"
#include "correlate/joins/disk_waits.hpp"
#include "correlate/joins/files.hpp"
#include "correlate/joins/memory.hpp"
#include "correlate/joins/network.hpp"
#include "correlate/joins/syscalls.hpp"

namespace tracer::internal {

std::vector<std::unique_ptr<FamilyJoin>> family_joins(const std::shared_ptr<Accounts>& accounts) {
  std::vector<std::unique_ptr<FamilyJoin>> joins;
  joins.push_back(std::make_unique<MemoryJoin>());
  joins.push_back(std::make_unique<DiskWaitsJoin>());
  joins.push_back(std::make_unique<FilesJoin>(accounts));
  joins.push_back(std::make_unique<NetworkJoin>(accounts));
  joins.push_back(std::make_unique<SyscallsJoin>());
  // Asks an exit what the memory's join has said.
  joins.push_back(std::make_unique<ContainersJoin>(accounts));
  return joins;
}

}  // namespace tracer::internal
