// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracer/history.hpp>

namespace tracer::internal {

/// What somebody wants to know of a history. Absent: of all.
struct HistoryQuestion {
  std::optional<std::vector<uid_t>> owners = {};
  std::optional<std::string> pipeline = {};
  std::optional<std::string> step = {};
  std::optional<std::uint64_t> input_bytes = {};  ///< See History::expect().
};

/// A kind of tasks, and what these usually take.
struct UsualKind {
  HistoryKind kind = {};
  Expectation usual = {};
};

struct HistoryAnswer {
  static constexpr std::size_t kMostKinds = 2000;
  static constexpr std::size_t kMostRuns = 1000;

  std::vector<UsualKind> kinds = {};  ///< By pipeline and step.
  std::vector<HistoryRun> runs = {};  ///< The newest first; no older ones than kMostRuns.
};

}  // namespace tracer::internal
