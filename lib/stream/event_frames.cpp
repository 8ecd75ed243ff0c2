// SPDX-License-Identifier: Apache-2.0
#include "stream/event_frames.hpp"

#include <tracer/error.hpp>

namespace tracer::internal {

bool EventFrames::has_room(const Event& event) const noexcept {
  return encoder_.has_room() && charged_bytes_ + event.charge_bytes() <= kMaxChargeBytes / 2;
}

void EventFrames::add(const Event& event) {
  encoder_.append(FrameEncoder::fitting(event));
  charged_bytes_ += event.charge_bytes();
}

const ColumnFrame& EventFrames::close(const ClockUpdate& clock) {
  payload_.clear();
  encoder_.close(payload_, clock);
  charged_bytes_ = 0;
  if (!frame_.decode(payload_)) throw Error({ErrorCode::kInternal, 0, "events could not be made a table", {}, {}});
  return frame_;
}

}  // namespace tracer::internal
