// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/history.hpp>

namespace tracer::internal {

/// How a task or run ended, as a history stores it.
enum class Outcome : std::uint8_t { kNotKnown = 0, kSucceeded = 1, kFailed = 2, kKilled = 3, kOutOfMemory = 4 };

constexpr std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kSucceeded: return "succeeded";
    case Outcome::kFailed: return "failed";
    case Outcome::kKilled: return "killed";
    case Outcome::kOutOfMemory: return "out of memory";
    case Outcome::kNotKnown: break;
  }
  return "unknown";
}

/// Of a TaskFinish or RunFinish.
template <class Finish>
Outcome outcome_of(const Finish& finish, bool out_of_memory) noexcept {
  if (out_of_memory) return Outcome::kOutOfMemory;
  const auto failed = finish.failed();
  if (!failed) return Outcome::kNotKnown;
  return !*failed ? Outcome::kSucceeded : finish.exit_signal ? Outcome::kKilled : Outcome::kFailed;
}
constexpr bool is_failure(Outcome outcome) noexcept {
  return outcome != Outcome::kSucceeded && outcome != Outcome::kNotKnown;
}

/// A task, or a run without tasks. No path, argument or name of a sample.
struct PastTask {
  TaskKind kind = {};
  std::string tool = {};      ///< The one with the most CPU time.
  std::string run_key = {};   ///< With task_key, its identity.
  std::string task_key = {};  ///< Empty: it is a run without tasks.
  std::uint64_t end_time_s = 0;
  Outcome outcome = Outcome::kNotKnown;
  std::uint64_t attempt = 1;
  std::uint64_t cpus = 0;  ///< Of the host.
  std::optional<std::uint64_t> wall_ns = {};
  std::optional<std::uint64_t> cpu_ns = {};
  std::optional<std::uint64_t> peak_bytes = {};  ///< Of a task that was killed, a lower bound of what it needs.
  std::optional<std::uint64_t> read_bytes = {};
  std::optional<std::uint64_t> written_bytes = {};
  std::optional<std::uint64_t> requested_millicpus = {};
  std::optional<std::uint64_t> requested_memory_bytes = {};
  std::optional<std::uint64_t> requested_time_ns = {};
};

}  // namespace tracer::internal
