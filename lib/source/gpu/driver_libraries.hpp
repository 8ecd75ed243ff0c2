// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "rules/gpu_library_rules.hpp"

namespace tracer::internal {

/// A library of a GPU's driver, on this machine.
struct DriverLibrary {
  UniqueFd file;     ///< Open: nobody can put another in its place meanwhile.
  std::string path;  ///< Of the file, with all links resolved.
  std::uint64_t inode = 0;
  std::uint64_t device = 0;  ///< As stat() says it.
  const GpuLibraryRule* rule = nullptr;
};

/// Those that lie where the rules look, each file once. Left out is what somebody else than root, or this user, may
/// change, and what is no regular file. `rules` must outlive them.
std::vector<DriverLibrary> driver_libraries(const GpuLibraryRules& rules);

}  // namespace tracer::internal
