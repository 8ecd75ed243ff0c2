// SPDX-License-Identifier: Apache-2.0
/// What earlier runs took: the database of SessionOptions::history. docs/history.md describes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/export.hpp>

namespace tracer {

/// Tasks that can be compared with each other. An empty text: there is none.
struct TaskKind {
  std::string pipeline;
  std::string step;  ///< Of a task without a step, and of a command without tasks: the tool.
  std::string engine;
  std::optional<std::uint32_t> owner_uid = {};  ///< In the history of a service, which keeps its users' tasks apart.
  /// Of tasks that no engine, label or announcement names: a keyed hash of their script and the shape of its arguments.
  /// Only the history itself makes it. Absent: they are named; or the kinds are several, of few tasks each.
  std::optional<std::uint64_t> script = {};

  auto operator<=>(const TaskKind&) const = default;
};

/// The kind of the tasks with this context, without its script; `tool` stands for a missing step.
TRACER_EXPORT TaskKind kind_of(const Context& context, std::string_view tool = {});

/// Which past tasks a Usual rests on.
enum class Basis : std::uint8_t {
  kAll = 1,      ///< All of the kind.
  kSimilar = 2,  ///< The three of most similar input bytes, scaled by these.
  kScaled = 3,   ///< All of the kind, scaled by their input bytes.
};

/// "all", "similar", "scaled". Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(Basis basis) noexcept;

/// What past tasks that succeeded took of something.
struct Usual {
  std::uint64_t median = 0;
  std::uint64_t p90 = 0;     ///< Nine of ten took at most this.
  std::uint64_t spread = 0;  ///< The median absolute deviation, times 1.4826: the noise.
  std::uint64_t most = 0;
  std::uint64_t n = 0;  ///< Past tasks, at least History::kLeast.
  Basis basis = Basis::kAll;
};

/// Each is absent below History::kLeast past tasks that it is known of.
struct Expectation {
  std::optional<Usual> wall_ns = {};
  std::optional<Usual> cpu_ns = {};
  std::optional<Usual> peak_bytes = {};
  std::optional<Usual> read_bytes = {};
  std::optional<Usual> written_bytes = {};
};

/// A kind of tasks in a history.
struct HistoryKind {
  TaskKind kind = {};
  std::uint64_t tasks = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t last_time_s = 0;  ///< Unix time of the last one's end.
};

/// A run in a history.
struct HistoryRun {
  std::string run_key;
  std::string pipeline;          ///< Of a run without a pipeline: the run's name.
  std::uint64_t end_time_s = 0;  ///< Unix time.
  std::uint64_t wall_ns = 0;
  std::uint64_t tasks = 0;
  std::string outcome;                          ///< "succeeded", "failed", "killed" or "unknown".
  std::optional<std::uint32_t> owner_uid = {};  ///< As in TaskKind.
};

/// A history as it was when it was opened. Thread-safe.
class TRACER_EXPORT History {
 public:
  /// Below this number of past tasks, nothing is expected.
  static constexpr std::uint64_t kLeast = 5;

  /// Throws Error: kFileUnreadable (missing, damaged, or not a history), kNewerSchema.
  explicit History(const std::filesystem::path& file);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  /// What a task of this kind usually takes. `input_bytes`: what it reads, if that is known.
  Expectation expect(const TaskKind& kind, std::optional<std::uint64_t> input_bytes = {}) const;
  /// How long a task of this kind that has run for `elapsed_ns` will still run: the median of the past tasks that took
  /// longer. Absent: too few did.
  std::optional<std::uint64_t> time_left_ns(const TaskKind& kind, std::uint64_t elapsed_ns,
                                            std::optional<std::uint64_t> input_bytes = {}) const;
  /// By pipeline and step. Kinds of fewer than kLeast successes that differ by their scripts only are one.
  const std::vector<HistoryKind>& kinds() const noexcept;
  /// The newest first.
  const std::vector<HistoryRun>& runs() const noexcept;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Removes what ended longer ago than `age` from a history, and returns the number of tasks. Throws Error:
/// kFileUnreadable, kFileUnwritable, kNewerSchema.
TRACER_EXPORT std::uint64_t prune_history(const std::filesystem::path& file, std::chrono::seconds age);
/// Deletes the files of a history. False: there was none. Throws Error(kFileUnwritable).
TRACER_EXPORT bool delete_history(const std::filesystem::path& file);

}  // namespace tracer
