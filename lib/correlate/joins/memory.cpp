// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/containers.hpp"
#include "correlate/joins/family_join.hpp"
#include "correlate/joins/files.hpp"
#include "correlate/joins/network.hpp"

#include <csignal>

namespace tracer::internal {
namespace {

class MemoryJoin final : public FamilyJoin {
 public:
  Family family() const noexcept override { return Family::kMemory; }

  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>&) override {
    // Where nobody has seen the signal sent, nor has anybody seen why.
    if (record.exit_signal == SIGKILL && !record.exit_signal_sender) return;
    exit.oom_killed = record.oom_killed;
  }
};

}  // namespace

std::vector<std::unique_ptr<FamilyJoin>> family_joins() {
  std::vector<std::unique_ptr<FamilyJoin>> joins;
  joins.push_back(std::make_unique<MemoryJoin>());
  joins.push_back(std::make_unique<FilesJoin>());
  joins.push_back(std::make_unique<NetworkJoin>());
  // Asks an exit what the memory's join has said.
  joins.push_back(std::make_unique<ContainersJoin>());
  return joins;
}

}  // namespace tracer::internal
