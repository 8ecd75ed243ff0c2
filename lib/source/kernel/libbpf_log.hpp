// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdarg>
#include <mutex>
#include <string>

namespace tracer {

/// What libbpf says while loading, for the error's detail; the library itself never prints.
class LibbpfLog {
 public:
  LibbpfLog() : lock_(mutex_), before_(::libbpf_set_print(&LibbpfLog::take)) { text_.clear(); }
  ~LibbpfLog() { ::libbpf_set_print(before_); }
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  /// Its end, which has the verifier's reason.
  std::string tail() const;

 private:
  static int take(enum libbpf_print_level level, const char* format, va_list arguments);

  static inline std::mutex mutex_;
  static inline std::string text_;
  std::lock_guard<std::mutex> lock_;
  libbpf_print_fn_t before_;
};

/// Throws Error(kProgramRefused or kNoMemory): "the kernel refused to <what>".
[[noreturn]] void refuse(const char* what, int error_number, const LibbpfLog& log);

}  // namespace tracer
