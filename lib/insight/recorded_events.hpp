// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <tracer/recording.hpp>

#include "insight/insight.hpp"

namespace tracer::internal {

/// The events of a recording, with findings: its own, or those that follow from its events where it was made before
/// there were findings.
class RecordedEvents {
 public:
  /// `reader` must outlive it.
  explicit RecordedEvents(RecordingReader& reader);

  /// The next event; absent at the end.
  std::optional<Event> next();

 private:
  RecordingReader& reader_;
  std::unique_ptr<Insight> insight_;  ///< Null: it has its own.
  std::vector<Event> ready_;
  std::size_t next_ = 0;
};

}  // namespace tracer::internal
