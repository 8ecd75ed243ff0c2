// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/lifecycle.hpp"
#include "source/kernel/families/snapshots.hpp"
#include "source/kernel/families/waits.hpp"

namespace tracer::internal {

std::vector<std::unique_ptr<KernelFamily>> kernel_families() {
  std::vector<std::unique_ptr<KernelFamily>> families;
  families.push_back(std::make_unique<WaitsFamily>());
  families.push_back(std::make_unique<LifecycleFamily>());
  families.push_back(std::make_unique<SnapshotsFamily>());
  return families;
}

}  // namespace tracer::internal
