// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// The one that this is compiled for, as `uname -m` prints it.
#if defined(__x86_64__)
inline constexpr std::string_view kArchitecture = "x86_64";
#elif defined(__aarch64__)
inline constexpr std::string_view kArchitecture = "aarch64";
#endif

/// The names of system calls by their numbers, from rules/syscalls.toml. Immutable after parse(), so any thread may
/// ask.
class SyscallNames {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static SyscallNames parse(std::string_view toml, std::string_view origin);
  /// Those that are built into the library; parsed once.
  static const SyscallNames& builtin();

  /// Absent: the number is not known.
  std::optional<std::string> name_of(std::string_view architecture, std::uint32_t number) const;

 private:
  friend class SyscallNamesReader;

  std::map<std::string, std::vector<std::string>, std::less<>> names_;  ///< Empty names: not known.
};

}  // namespace tracer::internal
