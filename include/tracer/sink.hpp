// SPDX-License-Identifier: Apache-2.0
/// Subscribers that write.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/host.hpp>

namespace tracer {

/// Writes events somewhere, on a thread of its own that the session gives it. After its first failure it is quiet;
/// what it has written stays.
class TRACER_EXPORT Sink {
 public:
  virtual ~Sink() = default;
  /// On the sink's thread; may block.
  virtual void write(std::span<const Event> events) noexcept = 0;
  /// On the sink's thread: every flush_period() while there is something new, and at the end.
  virtual void flush() noexcept = 0;
  virtual std::chrono::milliseconds flush_period() const noexcept { return std::chrono::seconds(1); }
  /// What stopped it, such as a full disk; absent while all is well. From any thread.
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
