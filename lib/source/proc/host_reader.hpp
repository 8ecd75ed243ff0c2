// SPDX-License-Identifier: Apache-2.0
/// What the kernel's files say of the host as a whole.
#pragma once

#include <string>

#include "rules/host_rules.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Reads /proc/stat, /proc/meminfo, /proc/net/dev and /proc/diskstats, and once what the machine says of itself. One
/// thread at a time.
class HostReader {
 public:
  /// `root`: the folder in which proc and sys are.
  explicit HostReader(std::string root = "");

  HostRecord read() const;

 private:
  std::string root_;
  HostIdentity identity_;
};

}  // namespace tracer::internal
