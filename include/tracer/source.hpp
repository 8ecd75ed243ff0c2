// SPDX-License-Identifier: Apache-2.0
/// Where a session's events come from, when not from this machine's kernel.
#pragma once

#include <filesystem>
#include <memory>

#include <tracer/export.hpp>

namespace tracer {

namespace internal {
class Source;
}

/// A stream of events for one session. Made by the functions below, by testing::FakeSource, and by the library.
class TRACER_EXPORT Source {
 public:
  explicit Source(std::unique_ptr<internal::Source> source) noexcept;
  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  /// For the session that takes it. Null: it was moved from.
  std::unique_ptr<internal::Source> release() noexcept;

 private:
  std::unique_ptr<internal::Source> source_;
};

/// Replays a recording in a file or a pipe; of a pipe, the call waits for the header. It is read as fast as it can be:
/// a queue or sink that is slower drops events, as in a live session. With Reader::kPoll, Queue::wait() drives the
/// replay at the pace of whoever reads the queue. Throws what RecordingReader throws.
TRACER_EXPORT Source recording_source(const std::filesystem::path& file);

}  // namespace tracer
