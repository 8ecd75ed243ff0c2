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

/// Feeds a session the events that it is given; they pass the filter as those of a recording do. Thread-safe; may
/// outlive the session.
class TRACER_EXPORT FakeSource {
 public:
  FakeSource();
  FakeSource(FakeSource&&) noexcept;
  FakeSource& operator=(FakeSource&&) noexcept;
  ~FakeSource();

  /// What to make the session with. Once: of two sessions each would get a part.
  Source source() const;
  /// Events come in the order in which they are pushed; what is pushed after finish() or the session's end never comes.
  void push(Event event);
  /// No more will come: the session is finished when it has had all.
  void finish();
  /// The session reports it as its own, in Statistics::losses and as Loss.
  void set_loss(const std::string& cause, std::uint64_t count);

 private:
  class Stream;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tracer::testing
