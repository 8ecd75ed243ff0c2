// SPDX-License-Identifier: Apache-2.0
/// Errors during set-up.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/export.hpp>

namespace tracer {

/// The fixed numbers of all errors; shown as "TRC<number>". A number is never reused. docs/errors.md explains each.
enum class ErrorCode : int {
  kInternal = 100,              ///< A defect in libtracer itself.
  kInvalidArgument = 101,       ///< An option or an argument that is not valid.
  kPermission = 102,            ///< A capability is missing.
  kNoBtf = 103,                 ///< The kernel carries no type information (/sys/kernel/btf/vmlinux).
  kKernelTooOld = 104,          ///< The kernel lacks something that nothing else can replace.
  kProgramRefused = 105,        ///< The kernel refused a BPF program or map.
  kFilterNamesNothing = 106,    ///< A filter rule names a process or cgroup that does not exist.
  kContradiction = 107,         ///< Two options exclude each other.
  kNoMemory = 108,              ///< Memory for maps or buffers was refused.
  kOverBudget = 109,            ///< A family was disabled because the session exceeded max_cost_share.
  kFileUnreadable = 110,        ///< A file is missing or can't be read.
  kNotARecording = 111,         ///< The file was not written by libtracer.
  kNewerSchema = 112,           ///< The recording was written by a newer libtracer.
  kCorruptRecording = 113,      ///< The recording's header can't be read.
  kFileUnwritable = 114,        ///< A file can't be created or written.
  kInvalidRules = 115,          ///< A rules file has a mistake.
  kInCallback = 116,            ///< A callback called a method that waits for callbacks to return.
  kOlderSchema = 117,           ///< The recording was written by an older libtracer whose format is no longer read.
  kPidNamespace = 118,          ///< /proc belongs to another pid namespace than this process.
  kNoGpu = 119,                 ///< No GPU reports its use, or what reads it does not work.
  kCommandNotFound = 120,       ///< The command to run does not exist.
  kCommandNotExecutable = 121,  ///< The command exists, but can't be executed.
  kNoSuchUser = 122,            ///< The user to run as does not exist.
  kNoService = 140,             ///< No service listens on the socket.
  kServiceVersion = 141,        ///< The service speaks no version of the protocol that this library speaks.
  kServiceRefused = 142,        ///< The service refused a request, or answered what makes no sense.
};

/// One thing that is missing or wrong.
struct Problem {
  ErrorCode code = ErrorCode::kInternal;
  int error_number = 0;  ///< errno, or 0 where no system call failed.
  std::string what;      ///< What was tried and how it failed, one line.
  std::string fix;       ///< How to fix it, one line; may be empty.
  std::string detail;    ///< More, such as the end of the verifier's log; may be empty, may have several lines.
};

/// Thrown during set-up, never on the event path. Carries everything that is missing, not just the first.
class TRACER_EXPORT Error : public std::exception {
 public:
  explicit Error(Problem problem);
  /// `problems` must not be empty; the first one gives the code.
  explicit Error(std::vector<Problem> problems);

  ErrorCode code() const noexcept { return problems_.front().code; }
  /// errno of the first problem, or 0.
  int error_number() const noexcept { return problems_.front().error_number; }
  const std::vector<Problem>& problems() const noexcept { return problems_; }
  /// A text of one screen: each problem with its code and its fix. Valid as long as this object.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Problem> problems_;
  std::string text_;
};

/// "TRC102". Valid for any value.
TRACER_EXPORT std::string to_string(ErrorCode code);

}  // namespace tracer
