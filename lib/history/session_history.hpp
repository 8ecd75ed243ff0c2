// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history/history_file.hpp"
#include "history/model.hpp"
#include "history/rows.hpp"

namespace tracer::internal {

/// The history of a session: what is usual by what was there when it began, and what is to be added. Nothing that goes
/// wrong with it harms the session. One thread at a time.
class SessionHistory {
 public:
  /// Never throws for what is wrong with the file: take_problem() says it.
  explicit SessionHistory(const std::filesystem::path& path);

  const UsualModel& usual() const noexcept { return usual_; }
  void add(PastTask task);
  void add(HistoryRun run);
  /// At a snapshot: writes what is there, but not at each of them, and waits for nobody.
  void write_sometimes(std::uint64_t now_ns);
  /// At the end.
  void write_all();
  /// What went wrong, in one sentence; once.
  std::optional<std::string> take_problem() noexcept { return std::exchange(problem_, std::nullopt); }

 private:
  static constexpr std::size_t kMostWaiting = 16384;
  static constexpr std::uint64_t kBetweenWrites_ns = 10'000'000'000;

  void write(std::chrono::milliseconds patience);
  void give_up(std::string problem);

  std::unique_ptr<HistoryFile> file_;  ///< Null: nothing is written, or no longer.
  UsualModel usual_;
  std::vector<PastTask> tasks_;  ///< Not written yet.
  std::vector<HistoryRun> runs_;
  std::uint64_t written_ns_ = 0;
  std::optional<std::string> problem_;
};

}  // namespace tracer::internal
