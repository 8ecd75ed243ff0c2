// SPDX-License-Identifier: Apache-2.0
/// Recordings that are named on the command line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tracer/recording.hpp>

namespace tracerd {

/// Recordings by their files and folders; the files of one session are one. "-" is standard input. None: the
/// caller's latest run. Throws tracer::Error.
std::vector<tracer::RecordingReader> open_recordings(const std::vector<std::string>& files);
/// Likewise; several sessions are refused.
tracer::RecordingReader open_recording(const std::vector<std::string>& files);

/// For people: "a.tracer on node1, b.tracer.1 … b.tracer (3 files) on node2"
std::string title_of(std::vector<tracer::RecordingReader>& recordings);

struct SessionVisitor {
  std::function<void(const tracer::HostInfo& host)> begin;
  std::function<void(const tracer::Event& event)> add;
  std::function<void(const tracer::RecordingDamage& damage)> end;
};
/// Their events, with findings. Sessions of a host of which one goes on with what lived in the one before, such as
/// those of a service that was started again, are one, in which nothing starts twice; what is between them is a Loss
/// with the cause "service_gap", and said on standard error.
void read_sessions(std::vector<tracer::RecordingReader>& recordings, const SessionVisitor& visitor);

/// What could not be read of them, and what is no part of another, on standard error. They were read.
void report_damage(std::span<tracer::RecordingReader> recordings);

}  // namespace tracerd
