// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include <tracer/event.hpp>

namespace tracer::internal {

/// The deepest folder that two absolute paths are in; empty: the root.
std::string nearest_above(const std::string& a, const std::string& b);

/// The folder that all runs of some recordings were started in, or the nearest one above these. Bounded.
class RunFolder {
 public:
  void add(const Event& event);
  /// Absolute, without a '/' at its end. Empty: not known, or the root.
  std::string path() const { return path_.value_or(""); }

 private:
  static constexpr std::size_t kMostRuns = 100'000;

  std::set<Key> runs_;  ///< Of which the first program is known.
  std::optional<std::string> path_;
};

}  // namespace tracer::internal
