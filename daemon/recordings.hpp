// SPDX-License-Identifier: Apache-2.0
/// Recordings that are named on the command line.
#pragma once

#include <string>

#include <tracer/recording.hpp>

namespace tracerd {

/// "-" is standard input. Throws tracer::Error.
tracer::RecordingReader open_recording(const std::string& file);

/// What could not be read of it, on standard error.
void report_damage(const std::string& name, const tracer::RecordingDamage& damage);

}  // namespace tracerd
