// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <tracer/export.hpp>

namespace tracer {

/// Part of the recording format: a number is never reused.
enum class EventKind : std::uint16_t {
  kProcessStart = 1,
  kProcessExec = 2,
  kProcessExit = 3,
  kProcessSample = 4,
  kLoss = 5,
  kSessionEnd = 6,
  kToolSample = 7,
  kCgroupSample = 8,
};

/// "process_start", "process_exec" … as in dumps. Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(EventKind kind) noexcept;

}  // namespace tracer
