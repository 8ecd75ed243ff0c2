// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tracer/export.hpp>

namespace tracer {

/// The scope of a label: Session::label_thread(). May outlive the session, and end on another thread.
class TRACER_EXPORT ThreadLabel {
 public:
  ThreadLabel() noexcept;
  ThreadLabel(ThreadLabel&& other) noexcept;
  ThreadLabel& operator=(ThreadLabel&& other) noexcept;
  ~ThreadLabel();

  /// The calling thread has this label again, from now on (whichever thread began it), until another is set; nothing if
  /// it has ended. Cheap: one map update.
  void resume() noexcept;
  /// Nothing is labeled by it from now on; the thread has the label of its outer scope again. Idempotent.
  void end() noexcept;

 private:
  friend class Session;
  class Impl;
  explicit ThreadLabel(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
