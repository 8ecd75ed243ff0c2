// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>
#include <vector>

#include <tracer.h>
#include <tracer/past.hpp>
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

struct tracer_past {
  explicit tracer_past(std::vector<tracer::PastFile> passed) : files(std::move(passed)) {}
  ~tracer_past() {
    for (const tracer::PastFile& file : files) ::close(file.opened.file_descriptor);
  }
  tracer_past(const tracer_past&) = delete;
  tracer_past& operator=(const tracer_past&) = delete;

  std::vector<tracer::PastFile> files;
};

struct tracer_recording {
  tracer::RecordingReader reader;
};
