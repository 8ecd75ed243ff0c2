// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// A daemon that runs what clients ask for: rules/daemons.toml.
struct DaemonRule {
  std::string name;
  std::vector<std::string> clients;  ///< Globs, as the next.
  std::vector<std::string> seen_by;
  std::vector<std::string> example_clients = {};
  std::vector<std::string> example_others = {};

  bool is_client(std::string_view called) const;
  /// By a tool, or the path of a cgroup.
  bool is_seen_by(std::string_view what) const;
};

class DaemonRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static std::vector<DaemonRule> parse(std::string_view toml, std::string_view origin);
  /// Those that are built into the library; parsed once.
  static const std::vector<DaemonRule>& builtin();
};

}  // namespace tracer::internal
