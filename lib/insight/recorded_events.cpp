// SPDX-License-Identifier: Apache-2.0
#include "insight/recorded_events.hpp"

#include <memory>
#include <utility>

#include "stream/recording_series.hpp"

namespace tracer::internal {

RecordedEvents::RecordedEvents(RecordingReader& reader) : reader_(reader) {
  const RecordingSeries* series = RecordingAccess::series(reader);
  if (series != nullptr && !series->knows_findings()) insight_ = std::make_unique<Insight>(reader.host().cpu_count);
}

std::optional<Event> RecordedEvents::next() {
  if (!insight_) return reader_.next();
  while (next_ == ready_.size()) {
    ready_.clear();
    next_ = 0;
    auto event = reader_.next();
    if (!event) return std::nullopt;
    insight_->add(std::move(*event), ready_);
  }
  return std::move(ready_[next_++]);
}

}  // namespace tracer::internal
