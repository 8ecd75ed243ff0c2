// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <tracer/export.hpp>

namespace tracer {

/// The kinds of events, in ranges: 1 to 99 the session itself, from 100 processes, runs and tasks; 200 is
/// files, 300 the network, 400 memory, 500 devices, 600 containers, 700 GPUs, 800 findings and the host as a whole, 900
/// system calls. Part of the stream
/// format: a number is never reused.
enum class EventKind : std::uint16_t {
  kNone = 0,  ///< An empty handle.
  kLoss = 1,
  kSessionEnd = 2,
  kSnapshotEnd = 3,
  kProcessStart = 100,
  kProcessExec = 101,
  kProcessExit = 102,
  kProcessSample = 103,
  kToolSample = 104,
  kCgroupSample = 105,
  kOwnWork = 106,
  kRunStart = 110,
  kRunFinish = 111,
  kTaskStart = 112,
  kTaskFinish = 113,
  kContextChange = 114,
  kTaskSubmit = 115,
  kFileUse = 200,
  kConnection = 300,
  kOomKill = 400,
  kDeviceSample = 500,
  kContainerStart = 600,
  kContainerFinish = 601,
  kGpuSample = 700,
  kGpuUse = 701,
  kFinding = 800,
  kHostSample = 810,
  kSyscallUse = 900,
};

/// "process_start", "process_exec" … as in dumps. Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(EventKind kind) noexcept;

}  // namespace tracer
