// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <exception>
#include <memory>
#include <utility>

namespace tracer::python {

/// The session has ended, or is another process's. Becomes SessionClosedError.
class SessionGone : public std::exception {
 public:
  explicit SessionGone(bool forked) noexcept : forked_(forked) {}
  bool forked() const noexcept { return forked_; }
  const char* what() const noexcept override { return "the session is closed"; }

 private:
  bool forked_;
};

/// What may be used and destroyed only in the process that made it. In a child made by fork its threads are missing and
/// its locks may be held forever: there it is left as it is, and its memory with it.
template <class T>
class OfProcess {
 public:
  OfProcess() noexcept = default;
  explicit OfProcess(T value) : value_(std::make_unique<T>(std::move(value))), pid_(::getpid()) {}
  OfProcess(OfProcess&&) noexcept = default;
  OfProcess& operator=(OfProcess&& other) noexcept {
    leave_if_foreign();
    value_ = std::move(other.value_);
    pid_ = other.pid_;
    return *this;
  }
  ~OfProcess() { leave_if_foreign(); }

  bool is_foreign() const noexcept { return value_ != nullptr && pid_ != ::getpid(); }
  explicit operator bool() const noexcept { return value_ != nullptr; }
  /// Throws SessionGone in another process, and where there is none.
  T& get() const {
    if (value_ == nullptr || is_foreign()) throw SessionGone(value_ != nullptr);
    return *value_;
  }
  T take() {
    T value = std::move(get());
    value_.reset();
    return value;
  }

 private:
  void leave_if_foreign() noexcept {
    if (is_foreign()) static_cast<void>(value_.release());
  }

  std::unique_ptr<T> value_;
  pid_t pid_ = -1;
};

}  // namespace tracer::python
