// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tracer/export.hpp>

namespace tracer {

/// The scope of a label: Session::label_thread(). May outlive the session, and end on another thread. end() and
/// resume() may be called from any thread at the same time. In a forked child it does nothing: it is the parent's.
class TRACER_EXPORT ThreadLabel {
 public:
  ThreadLabel() noexcept;
  ThreadLabel(ThreadLabel&& other) noexcept;
  ThreadLabel& operator=(ThreadLabel&& other) noexcept;
  ~ThreadLabel();

  /// Nothing is labeled by it from now on; the thread has the label of its outer scope again, unless it has another by
  /// now. Scopes may end in any order: of the outer ones the innermost that has not ended counts. Where other threads
  /// had resumed it, they have none of their own until one is set or resumed. Idempotent.
  void end() noexcept;
  /// The calling thread has this label from now on, whichever thread began it, until another is set or resumed.
  /// Nothing happens if it has ended. What ends on this thread later restores the label that was around it when it
  /// began. Cheap: one update of a map in the kernel, about a microsecond. Where too many threads are labeled the loss
  /// "label_table_full" is counted.
  void resume() noexcept;

 private:
  friend class Session;
  class Impl;
  explicit ThreadLabel(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
