// SPDX-License-Identifier: Apache-2.0
/// Sources of a session's events other than this machine's kernel.
#pragma once

#include <filesystem>
#include <memory>

#include <tracer/export.hpp>
#include <tracer/filter.hpp>

namespace tracer {

namespace internal {
class Source;
}

/// A stream of events for one session. The functions below, testing::FakeSource and the library create it.
class TRACER_EXPORT Source {
 public:
  explicit Source(std::unique_ptr<internal::Source> source) noexcept;
  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  /// For the session that takes it. Null if it was moved from.
  std::unique_ptr<internal::Source> release() noexcept;

 private:
  std::unique_ptr<internal::Source> source_;
};

/// Replays a recording in a file or a pipe; for a pipe, the call waits for the header. The replay runs as fast as it
/// can: a slower queue or sink drops events, as in a live session. With ReaderMode::kPoll, Queue::wait() drives the
/// replay at the pace of the queue's reader. Throws what RecordingReader throws.
TRACER_EXPORT Source recording_source(const std::filesystem::path& file);

/// The events of all that the caller may see and `filter` takes in, from the service (`tracerd serve`) that listens on
/// `socket`: exact, and without rights of the caller's own. The service sends nothing else. A filter of more than 64
/// rules, or with a glob of more than 256 bytes, is refused. Throws Error: kNoService, kPermission (the socket is not
/// for this user), kServiceVersion, kServiceRefused, kPidNamespace, kFilterNamesNothing, kInvalidArgument. The session
/// reconnects when the service was restarted, and states what it missed as a Loss with the cause "service_gap".
TRACER_EXPORT Source connect(const std::filesystem::path& socket = "/run/tracer/tracer.sock",
                             const Filter& filter = {});

}  // namespace tracer
