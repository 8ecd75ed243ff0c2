// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer.h>
#include <tracer/recording.hpp>

struct tracer_recording {
  tracer::RecordingReader reader;
};
