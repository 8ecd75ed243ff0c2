// SPDX-License-Identifier: Apache-2.0
/// For tests of programs that embed libtracer: no privileges, no kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/source.hpp>

namespace tracer::testing {

/// Feeds a session with events; they pass the filter like those of a recording. Thread-safe; may outlive the session.
class TRACER_EXPORT FakeSource {
 public:
  FakeSource();
  FakeSource(FakeSource&&) noexcept;
  FakeSource& operator=(FakeSource&&) noexcept;
  ~FakeSource();

  /// The source to pass to the session. Call it once: two sessions would each get a part of the events.
  Source source() const;
  /// Events come in the order in which they are pushed; events pushed after finish() or the session's end never come.
  void push(Event event);
  /// Ends the source: the session is finished when it has had all events.
  void finish();
  /// The session reports the loss as its own, in Statistics::losses and as Loss.
  void set_loss(const std::string& cause, std::uint64_t count);

 private:
  class Stream;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tracer::testing
