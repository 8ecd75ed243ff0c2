// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tracer::internal {

/// Runs what may wait on threads of its own: questions to the session on one, and what asks file systems, which may
/// hang for ever, on several. Users take turns. The threads have an ordinary priority, whatever that of this process
/// is.
class Workers {
 public:
  static constexpr std::size_t kFileThreads = 8;
  enum class Kind : std::uint8_t { kSession, kFiles };
  /// What is left to do on the thread that called take_done().
  using Rest = std::function<void()>;
  using Work = std::function<Rest()>;

  /// Throws Error(kNoMemory).
  Workers();
  /// Waits for nothing that hangs: such a thread ends when that does. What waits is not done.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `work` must own all that it uses; it must not throw. A user's file questions are asked one after the other.
  void ask(Kind kind, uid_t uid, Work work);
  /// Readable while take_done() would give something.
  int fd() const noexcept;
  std::vector<Rest> take_done();

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state, Kind kind);
  std::shared_ptr<State> state_;
};

}  // namespace tracer::internal
