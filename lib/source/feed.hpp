// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/event.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// Takes what a source yields, on the thread that holds the reader. Calls nothing of the source.
class Feed {
 public:
  /// To be named, masked and correlated.
  virtual void record(const Record& record) = 0;
  /// Was correlated before: of a recording or a fake.
  virtual void event(Event event) = 0;
  /// All of the snapshot that was asked for, of this time, has been yielded.
  virtual void snapshot_end(std::uint64_t time_ns) = 0;

 protected:
  ~Feed() = default;
};

}  // namespace tracer::internal
