// SPDX-License-Identifier: Apache-2.0
/// Recordings that are named on the command line.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <tracer/recording.hpp>

namespace tracerd {

/// "-" is standard input. Throws tracer::Error.
tracer::RecordingReader open_recording(const std::string& file);

/// What could not be read of it, on standard error.
void report_damage(const std::string& name, const tracer::RecordingDamage& damage);

/// Several, in the order in which they were named.
struct Recordings {
  std::vector<std::string> names;  ///< For people.
  std::deque<tracer::RecordingReader> readers;
};

/// As open_recording(), of each.
Recordings open_recordings(const std::vector<std::string>& files);

void report_damage(const Recordings& recordings);

}  // namespace tracerd
