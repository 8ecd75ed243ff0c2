// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/user_threads.hpp"

namespace tracer::internal {

/// Runs what may wait on threads of its own, as UserThreads does: questions to the session on one, and what asks file
/// systems, which may hang for ever, on several.
class Workers {
 public:
  static constexpr std::size_t kFileThreads = 8;
  enum class Kind : std::uint8_t { kSession, kFiles };
  /// What is left to do on the thread that called take_done().
  using Rest = std::function<void()>;
  using Work = std::function<Rest()>;

  /// Throws Error(kNoMemory).
  Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `work` must own all that it uses; it must not throw.
  void ask(Kind kind, uid_t uid, Work work);
  /// As UserThreads::retry(): to be called every now and then.
  void retry();
  /// Readable while take_done() would give something.
  int fd() const noexcept;
  std::vector<Rest> take_done();

 private:
  struct Done;
  std::shared_ptr<Done> done_;
  UserThreads session_{1};
  UserThreads files_{kFileThreads};
};

}  // namespace tracer::internal
