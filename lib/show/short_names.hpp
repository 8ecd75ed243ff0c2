// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// Shorter names for tasks that are called by what they run, where theirs has no room: the words in which their
/// commands differ from others that the same launcher started and that begin alike.
class ShortNames {
 public:
  explicit ShortNames(const std::vector<ReportNode>& tree);

  /// The longest name of the row's task that fits in so many columns, else the shortest.
  std::string fitting(const ReportRow& task, std::size_t columns) const;

 private:
  std::map<std::uint64_t, std::vector<std::string>> names_;  ///< By task key; the longest first.
};

}  // namespace tracer::internal
