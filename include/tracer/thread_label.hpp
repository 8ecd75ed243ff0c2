// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tracer/export.hpp>

namespace tracer {

/// The scope of a label: Session::label_thread(). May outlive the session, and end on another thread. Any threads may
/// call end() and resume() at the same time. In a forked child it does nothing: it belongs to the parent.
class TRACER_EXPORT ThreadLabel {
 public:
  ThreadLabel() noexcept;
  ThreadLabel(ThreadLabel&& other) noexcept;
  ThreadLabel& operator=(ThreadLabel&& other) noexcept;
  ~ThreadLabel();

  /// Ends the label: it labels nothing from now on, and the thread has the label of its outer scope again, unless it
  /// has another by now. Scopes may end in any order: the innermost outer scope that has not ended counts. Other
  /// threads that had resumed the label have none of their own until one is set or resumed. Idempotent.
  void end() noexcept;
  /// Gives the calling thread this label from now on, whichever thread began it, until another is set or resumed. Does
  /// nothing if the label has ended. A scope that ends on this thread later restores the label that was around it when
  /// it began. Cheap: one update of a map in the kernel, about a microsecond. If too many threads are labeled, the loss
  /// "label_table_full" is counted.
  void resume() noexcept;

 private:
  friend class Session;
  class Impl;
  explicit ThreadLabel(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
