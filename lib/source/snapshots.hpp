// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "source/feed.hpp"

namespace tracer::internal {

/// Says what lives. Called by the reader.
class Snapshots {
 public:
  /// Yields a record for each thread of each living process that is tracked, for large files that they have open, and,
  /// if asked for, for their cgroups; each between the records of events in the order of time. Then snapshot_end.
  /// Throws Error, without a snapshot_end, when what lives can't be walked through; counted as a loss.
  virtual void snapshot(Feed& feed, bool with_cgroups) = 0;

 protected:
  ~Snapshots() = default;
};

}  // namespace tracer::internal
