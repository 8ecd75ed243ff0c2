// SPDX-License-Identifier: Apache-2.0
/// Subscribers that write.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/host.hpp>

namespace tracer {

/// Gets every event, on the thread that dispatches. Nothing may throw out of it: what goes wrong is kept in problem(),
/// and the sink is quiet from then on; what it has written stays.
class TRACER_EXPORT Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_event(const Event& event) noexcept = 0;
  /// Called about once a second and at the end.
  virtual void flush() noexcept = 0;
  /// What stopped it, such as a full disk; absent while all is well. Call when no event is being dispatched.
  virtual std::optional<Problem> problem() const = 0;
};

/// Writes a recording (docs/recording-format.md). The file is replaced if it exists.
/// Throws Error(kFileUnwritable).
TRACER_EXPORT std::unique_ptr<Sink> recording_sink(const std::filesystem::path& file, const HostInfo& host);

/// Takes over an open file descriptor; `name` is for messages only.
TRACER_EXPORT std::unique_ptr<Sink> recording_sink(int file_descriptor, std::string name, const HostInfo& host);

/// Writes one JSON object a line: the host, then each event. Throws Error(kFileUnwritable).
TRACER_EXPORT std::unique_ptr<Sink> json_sink(const std::filesystem::path& file, const HostInfo& host);
TRACER_EXPORT std::unique_ptr<Sink> json_sink(int file_descriptor, std::string name, const HostInfo& host);

}  // namespace tracer
