// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer.h>
#include <tracer/recording.hpp>

namespace tracer::c {

inline tracer_damage damage_in_c(const RecordingDamage& damage) noexcept {
  tracer_damage value{};
  value.skipped_bytes = damage.skipped_bytes;
  value.skipped_events = damage.skipped_events;
  value.missing_frames = damage.missing_frames;
  value.read_error = damage.read_error;
  value.truncated = damage.truncated ? 1 : 0;
  value.any = damage.any() ? 1 : 0;
  return value;
}

}  // namespace tracer::c

struct tracer_recording {
  tracer::RecordingReader reader;
};
