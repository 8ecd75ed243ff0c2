// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/libbpf_log.hpp"

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer {
namespace {

constexpr std::size_t kLogTailBytes = 1500;

}  // namespace

std::string LibbpfLog::tail() const {
  return text_.size() <= kLogTailBytes ? text_ : "…" + text_.substr(text_.size() - kLogTailBytes);
}

int LibbpfLog::take(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (size <= 0) return size;
  const std::size_t old = text_.size();
  text_.resize(old + static_cast<std::size_t>(size) + 1);
  std::vsnprintf(text_.data() + old, static_cast<std::size_t>(size) + 1, format, arguments);
  text_.pop_back();
  return size;
}

void refuse(const char* what, int error_number, const LibbpfLog& log) {
  const bool memory = error_number == ENOMEM;
  throw Error({memory ? ErrorCode::kNoMemory : ErrorCode::kProgramRefused, error_number,
               fmt::format("the kernel refused to {}", what),
               memory ? "free some memory, or ask for a smaller ring and fewer processes"
                      : "run `tracerd check`; report the detail if it finds nothing missing",
               log.tail()});
}

}  // namespace tracer
