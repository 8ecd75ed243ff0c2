// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/libbpf_log.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "source/kernel/load/refusal.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kLogTailBytes = 1500;
thread_local LibbpfLog* current = nullptr;

}  // namespace

class LibbpfLog::Hook {
 public:
  static void set() { static const Hook once; }

 private:
  Hook() { before_.store(::libbpf_set_print(&Hook::print)); }
  /// Where the library is unloaded before libbpf is.
  ~Hook() {
    const libbpf_print_fn_t now = ::libbpf_set_print(before_.load());
    if (now != &Hook::print) ::libbpf_set_print(now);
  }

  static int print(enum libbpf_print_level level, const char* format, va_list arguments) {
    if (current == nullptr) {
      const libbpf_print_fn_t before = before_.load();
      return before == nullptr ? 0 : before(level, format, arguments);
    }
    if (level != LIBBPF_DEBUG) current->take(format, arguments);
    return 0;
  }

  static inline std::atomic<libbpf_print_fn_t> before_{nullptr};
};

LibbpfLog::LibbpfLog() : outer_(current) {
  Hook::set();
  current = this;
}

LibbpfLog::~LibbpfLog() { current = outer_; }

std::string LibbpfLog::tail() const {
  return text_.size() <= kLogTailBytes ? text_ : "…" + text_.substr(text_.size() - kLogTailBytes);
}

void LibbpfLog::take(const char* format, va_list arguments) noexcept try {
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (size <= 0) return;
  std::string line(static_cast<std::size_t>(size) + 1, '\0');
  std::vsnprintf(line.data(), line.size(), format, arguments);
  line.pop_back();
  text_ += line;
} catch (...) {
  // Out of memory: a shorter detail.
}

void refuse(const char* what, int error_number, const LibbpfLog& log) {
  const bool memory = error_number == ENOMEM;
  const char* const fix = fix_of_refusal(error_number);
  throw Error({memory ? ErrorCode::kNoMemory : ErrorCode::kProgramRefused, error_number,
               fmt::format("the kernel refused to {}", what), fix != nullptr ? fix : kFixByCheck, log.tail()});
}

}  // namespace tracer::internal
