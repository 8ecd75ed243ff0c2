// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdarg>
#include <string>

namespace tracer::internal {

/// What libbpf says on this thread while this object lives, for an error's detail; the library itself never prints.
///
/// libbpf has one print hook for the whole process and prints to stderr without one. Ours is set once, keeps what comes
/// from threads that are inside our calls, and leaves all else to the hook that was there before: another user of
/// libbpf in the process sees no difference.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  /// Its end, which has the verifier's reason.
  std::string tail() const;

 private:
  class Hook;
  void take(const char* format, va_list arguments) noexcept;

  std::string text_;
  LibbpfLog* outer_;  ///< Of the same thread.
};

/// Throws Error(kProgramRefused or kNoMemory): "the kernel refused to <what>".
[[noreturn]] void refuse(const char* what, int error_number, const LibbpfLog& log);

}  // namespace tracer::internal
