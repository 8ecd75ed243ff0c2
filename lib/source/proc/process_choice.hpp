// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "source/source_request.hpp"

namespace tracer::internal {

/// The filter's rules on trees, cgroups and users, for a source that sees one process after the other.
class ProcessChoice {
 public:
  struct Candidate {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::optional<std::string> cgroup = {};     ///< Its path.
    std::optional<std::uint32_t> parents = {};  ///< The context of its parent, which is followed.
    bool at_start = false;                      ///< The rules on trees name those that live when the session starts.
  };

  explicit ProcessChoice(const SourceRequest& request);

  /// The context of a process that is to be followed; absent: it is not.
  std::optional<std::uint32_t> choose(const Candidate& candidate) const;
  /// A rule prunes it, with all its descendants.
  bool excludes(const Candidate& candidate) const;
  /// Processes are followed that have no parent that is.
  bool looks_beyond_trees() const noexcept { return beyond_trees_; }
  bool needs_cgroups() const noexcept { return needs_cgroups_; }

 private:
  bool matches(const Filter::Rule& rule, const Candidate& candidate) const;

  std::vector<SourceRule> rules_;
  bool track_all_;
  bool own_uid_only_;
  bool beyond_trees_ = false;
  bool needs_cgroups_ = false;
  std::uint32_t own_uid_;
};

}  // namespace tracer::internal
