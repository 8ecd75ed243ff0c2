// SPDX-License-Identifier: Apache-2.0
/// How the end of a process, task or run is put into words and statuses.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <string.h>

#include <fmt/format.h>

namespace tracer::internal {

/// A shell's status of a child that signal n ended: 128 + n.
inline constexpr std::int32_t kOfSignal = 128;

inline std::string signal_name(std::int32_t signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

/// "ended with status 3", "was ended by SIGKILL". Of anything with an exit_code and an exit_signal.
template <class Ended>
std::string how(const Ended& ended) {
  if (!ended.exit_signal) return fmt::format("ended with status {}", ended.exit_code.value_or(0));
  return "was ended by " + signal_name(*ended.exit_signal);
}

}  // namespace tracer::internal
